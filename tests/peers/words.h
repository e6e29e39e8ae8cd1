/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What two peers say to each other, whatever they are: a kernel consumer, an application of DAT,
 * or a plain program of rdma_cm. A client asks three times, by the private data of its requests:
 * to be rejected, to be accepted, and to be accepted and then disconnected by the server. The
 * answers have private data, too. On each connection the client sends a message of each length,
 * and the server answers each with one of the same length.
 */
#ifndef PEERS_WORDS_H
#define PEERS_WORDS_H

#define PEER_PORT	7500
#define PEER_ROUNDS	3
#define PEER_LENGTHS	{ 1, 100, 4096, 60000 }
#define PEER_LONGEST	60000

/* By the number of the round */
#define PEER_ASKS	{ "please reject me", "please accept me", "and end it" }
#define PEER_ANSWERS	{ "no, because you ask for it", "yes", "yes, I shall" }
#define PEER_WORDS	32	/* each is so long, with zeros at the end */
#define PEER_HEADER	4	/* what a provider of DAT puts in front of those of a rejection */

static inline unsigned char peer_byte(unsigned int seed, unsigned int i)
{
	return seed * 31 + i * 7 + (i >> 8);
}

static inline void peer_fill(unsigned char *to, unsigned int length, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < length; i++)
		to[i] = peer_byte(seed, i);
}

static inline int peer_is(const unsigned char *what, unsigned int length, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < length; i++)
		if (what[i] != peer_byte(seed, i))
			return 0;
	return 1;
}

/* Seeds of message @n of round @round: what the client sends, and what the server answers */
#define PEER_SENT(round, n)	(16 * (round) + (n))
#define PEER_ECHO(round, n)	(16 * (round) + (n) + 128)

#endif /* PEERS_WORDS_H */
