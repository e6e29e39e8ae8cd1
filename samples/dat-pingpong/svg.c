// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The times of all tests as one picture (SVG). The plot of a test has a histogram, and a curve
 * of the share of times that are at most as long as the time on the axis. All plots have the
 * same logarithmic axis. Called by report.c and client.c.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong.h"

enum {
	LEFT = 78,		/* where the plots begin */
	WIDTH = 660,		/* of a plot */
	HEIGHT = 120,
	RIGHT = 64,		/* beside it, for the second axis */
	HEAD = 58,		/* above the first one */
	ABOVE = 40,		/* of each, for its title and the marks */
	BELOW = 50,		/* for the axis */
};

#define BARS	"#a9c9e4"
#define CURVE	"#1f6fb2"
#define MARKS	"#b4531f"
#define GREY	"#6b7785"

/* What is kept of a test until the scale is known */
struct plot {
	struct test test;
	size_t number;
	uint64_t counts[NR_BUCKETS];
	uint64_t most;			/* at the top of the scale */
	double us[4];			/* median, 99%, 99.9%, max */
	struct plot *next;
};

static const unsigned int per_mille[] = { 500, 990, 999, 1000 };
static const char *const mark_names[] = { "median", "99%", "99.9%", "max" };

static FILE *file;
static struct plot *plots, **tail = &plots;
static double first_us, last_us;	/* of the scale */

/* svg_open - open the file before the tests, so that an error is seen early; 0: it is open */
int svg_open(const char *name)
{
	file = fopen(name, "w");
	if (file)
		return 0;
	fprintf(stderr, "dat-pingpong: cannot write %s: %s\n", name, strerror(errno));
	return 1;
}

/* svg_add - keep what will be drawn of a test that has times */
void svg_add(const struct options *opt, const struct result *result)
{
	struct plot *plot = calloc(1, sizeof(*plot));
	unsigned int i;

	if (!plot) {
		fprintf(stderr, "dat-pingpong: %s: no memory for a test\n", opt->svg);
		return;
	}
	plot->test = result->test;
	plot->number = result->done;
	count_times(result->sorted, result->done, plot->counts);
	for (i = 0; i < NR_BUCKETS; i++)
		plot->most = plot->counts[i] > plot->most ? plot->counts[i] : plot->most;
	plot->most += plot->most % 2;	/* even: the middle of the axis is labelled with its half */
	for (i = 0; i < 4; i++)
		plot->us[i] = percentile(result->sorted, result->done, per_mille[i]);
	*tail = plot;
	tail = &plot->next;
}

/* ---- the scale ---------------------------------------------------------- */

static double x_of(double us)
{
	return LEFT + WIDTH * log(us / first_us) / log(last_us / first_us);
}

/* The axis goes from the first bucket that has a time to the last, a factor of four at least. */
static void find_scale(void)
{
	unsigned int first = NR_BUCKETS, last = 0, i;
	const struct plot *plot;

	for (plot = plots; plot; plot = plot->next) {
		for (i = 0; i < NR_BUCKETS; i++) {
			if (!plot->counts[i])
				continue;
			first = i < first ? i : first;
			last = i > last ? i : last;
		}
	}
	first -= first ? 1 : 0;
	last += 2;
	while (last - first < PER_DECADE * 6 / 10) {
		first -= first ? 1 : 0;
		last++;
	}
	first_us = bucket_ns(first) / 1e3;
	last_us = bucket_ns(last) / 1e3;
}

static const char *time_text(double us, char *text, size_t size)
{
	const char *unit = "\302\265s";

	if (us >= 999999.5) {
		us /= 1e6;
		unit = "s";
	} else if (us >= 999.95) {
		us /= 1e3;
		unit = "ms";
	}
	snprintf(text, size, "%.3g %s", us, unit);
	return text;
}

/* ---- drawing ------------------------------------------------------------ */

static void put_text(double x, double y, const char *attributes, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '&':
			fputs("&amp;", file);
			break;
		default:
			if ((unsigned char)*text >= ' ')
				fputc(*text, file);
		}
	}
	fputs("</text>\n", file);
}

static void put_line(double x1, double y1, double x2, double y2, const char *attributes)
{
	fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1,
		x2, y2, attributes);
}

/* Ticks at 1 to 9 of each decade. Depending on the room, all, 1, 2 and 5, or only 1 have labels. */
static void put_scale(double bottom)
{
	double decades = log10(last_us / first_us), power, us;
	char text[32];
	int i;

	for (power = pow(10, floor(log10(first_us))); power <= last_us; power *= 10) {
		for (i = 1; i < 10; i++) {
			us = i * power;
			if (us < first_us || us > last_us)
				continue;
			if (i == 1)
				put_line(x_of(us), bottom - HEIGHT, x_of(us), bottom,
					 "stroke=\"#e3e7eb\"");
			put_line(x_of(us), bottom, x_of(us), bottom + (i == 1 ? 6 : 4),
				 "stroke=\"" GREY "\"");
			if (i == 1 || (decades < 3.5 && (i == 2 || i == 5)) || decades < 1.1)
				put_text(x_of(us), bottom + 18, "text-anchor=\"middle\"",
					 time_text(us, text, sizeof(text)));
		}
	}
}

static void put_axes(const struct plot *plot, double bottom, const char *what)
{
	double top = bottom - HEIGHT, y;
	char text[32];
	int i;

	put_scale(bottom);
	for (i = 0; i <= 2; i++) {
		y = bottom - HEIGHT * i / 2.0;
		put_line(LEFT, y, LEFT + WIDTH, y,
			 i ? "stroke=\"#e3e7eb\"" : "stroke=\"" GREY "\"");
		snprintf(text, sizeof(text), "%.4g", plot->most * i / 2.0);
		put_text(LEFT - 8, y + 4, "text-anchor=\"end\"", text);
		snprintf(text, sizeof(text), "%d%%", 50 * i);
		put_text(LEFT + WIDTH + 8, y + 4, "fill=\"" CURVE "\"", text);
	}
	fprintf(file, "<g transform=\"translate(18 %.1f) rotate(-90)\">", (top + bottom) / 2);
	put_text(0, 0, "text-anchor=\"middle\" fill=\"" GREY "\"", what);
	fprintf(file, "</g>\n<g transform=\"translate(%d %.1f) rotate(-90)\">",
		LEFT + WIDTH + RIGHT - 10, (top + bottom) / 2);
	put_text(0, 0, "text-anchor=\"middle\" fill=\"" CURVE "\"", "at most as long");
	fputs("</g>\n", file);
}

static void put_bars(const struct plot *plot, double bottom)
{
	double left, right, height;
	unsigned int i;

	for (i = 0; i < NR_BUCKETS; i++) {
		if (!plot->counts[i])
			continue;
		left = x_of(bucket_ns(i) / 1e3);
		right = x_of(bucket_ns(i + 1) / 1e3);
		height = (double)HEIGHT * plot->counts[i] / plot->most;
		height = height < 1 ? 1 : height;	/* one in a million can be seen */
		fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"fill=\"" BARS "\"/>\n", left, bottom - height,
			right - left > 1.5 ? right - left - 0.5 : right - left, height);
	}
}

static void put_curve(const struct plot *plot, double bottom)
{
	uint64_t sum = 0;
	unsigned int i;

	fprintf(file, "<polyline fill=\"none\" stroke=\"" CURVE
		"\" stroke-width=\"1.6\" points=\"%d,%.1f", LEFT, bottom);
	for (i = 0; i < NR_BUCKETS; i++) {
		if (!plot->counts[i])
			continue;
		fprintf(file, " %.1f,%.1f", x_of(bucket_ns(i) / 1e3),
			bottom - (double)HEIGHT * sum / plot->number);
		sum += plot->counts[i];
		fprintf(file, " %.1f,%.1f", x_of(bucket_ns(i + 1) / 1e3),
			bottom - (double)HEIGHT * sum / plot->number);
	}
	fprintf(file, " %d,%.1f\"/>\n", LEFT + WIDTH, bottom - HEIGHT);
}

/* Marks the percentiles. A name that would overlap the one before it is left out. */
static void put_marks(const struct plot *plot, double bottom)
{
	double x, free_from = LEFT;
	int i;

	for (i = 0; i < 4; i++) {
		x = x_of(plot->us[i]);
		put_line(x, bottom - HEIGHT - 4, x, bottom,
			 "stroke=\"" MARKS "\" stroke-dasharray=\"2 3\"");
		if (x < free_from)
			continue;
		put_text(x, bottom - HEIGHT - 8, "text-anchor=\"middle\" font-size=\"10\" "
			 "fill=\"" MARKS "\"", mark_names[i]);
		free_from = x + 42;
	}
}

static void put_plot(const struct plot *plot, double bottom, const char *what)
{
	char title[256], us[4][32];
	int i;

	for (i = 0; i < 4; i++)
		time_text(plot->us[i], us[i], sizeof(us[i]));
	snprintf(title, sizeof(title),
		 "%s, %u byte%s: %zu %s, median %s, 99%% %s, 99.9%% %s, max %s",
		 mode_names[plot->test.mode], plot->test.size,
		 plot->test.size == 1 ? "" : "s", plot->number, what, us[0], us[1], us[2],
		 us[3]);
	put_text(LEFT, bottom - HEIGHT - 24, "font-size=\"13\"", title);
	put_axes(plot, bottom, what);
	put_bars(plot, bottom);
	put_curve(plot, bottom);
	put_marks(plot, bottom);
	put_text(LEFT + WIDTH / 2.0, bottom + 36, "text-anchor=\"middle\" fill=\"" GREY "\"",
		 "time of each (logarithmic)");
}

/* svg_close - draw everything; false: it could not be written */
bool svg_close(const struct options *opt)
{
	const char *what = opt->connections ? "connections" : "round trips";
	unsigned int nr = 0, width = LEFT + WIDTH + RIGHT;
	struct plot *plot;
	double bottom = HEAD;
	char title[400];
	bool good;

	for (plot = plots; plot; plot = plot->next)
		nr++;
	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"11\" "
		"fill=\"#22292f\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		width, HEAD + nr * (ABOVE + HEIGHT + BELOW), width,
		HEAD + nr * (ABOVE + HEIGHT + BELOW));
	snprintf(title, sizeof(title), "dat-pingpong: %s from %s to %s", what, opt->ia_name,
		 opt->address);
	put_text(LEFT, 28, "font-size=\"17\"", title);
	snprintf(title, sizeof(title), "%s%s%s%s, %u endpoint%s", opt->verify ?
		 "every byte verified" : "bytes not verified", opt->poll ? ", polling" : "",
		 opt->srq ? ", shared receive queue" : "", opt->rmr ? ", bound RMRs" : "",
		 opt->endpoints, opt->endpoints == 1 ? "" : "s in turn");
	put_text(LEFT, 46, "fill=\"" GREY "\"", title);
	find_scale();
	while (plots) {
		plot = plots;
		bottom += ABOVE + HEIGHT;
		put_plot(plot, bottom, what);
		bottom += BELOW;
		plots = plot->next;
		free(plot);
	}
	fputs("</svg>\n", file);
	good = !ferror(file);
	if (fclose(file) || !good) {
		fprintf(stderr, "dat-pingpong: cannot write %s: %s\n", opt->svg,
			strerror(errno));
		return false;
	}
	return true;
}
