#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Turn the tables of this folder into static assertions about the headers.

    layout.py LEVEL             list the groups
    layout.py LEVEL GROUP...    print C for them; "all" for every group
    layout.py LEVEL extra       list DAT names that standard input has and no
                                table
    layout.py LEVEL headers     list the headers that have the names

LEVEL is user or kernel for DAT 1.2, user2 for DAT 2.0.

The C holds nothing but declarations, so it compiles on its own and inside a
kernel unit test alike.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def table(name):
    with open(os.path.join(HERE, name)) as lines:
        return [line.rstrip("\n").split("\t") for line in lines
                if not line.startswith("#")]


def key(row):
    """The name that a row is about: a tag, or what follows an @ word."""
    return row[1] if row[0].startswith("@") else row[0]


def is_member(row):
    return len(row) == 4


def is_enumerator(row):
    return len(row) == 3 and not row[0].startswith("@")


LEVELS = {
    "user": ("dat/udat.h", "dat/dat_registry.h"),
    "kernel": ("dat/kdat.h", "dat/dat_registry.h"),
    "user2": ("dat2/udat.h", "dat2/dat_registry.h",
              "dat2/dat_ib_extensions.h"),
}


def rows_of(level):
    rows = table("dat-2.0.tsv" if level == "user2" else "dat-1.2.tsv")
    if level != "kernel":
        return rows
    changes = table("kdat-1.2.tsv")
    replaced = {key(row) for row in changes}
    absent = {row[1] for row in changes if row[0] == "@absent"}
    kept = [row for row in rows if key(row) not in replaced and
            not (row[0] == "@typedef" and row[2].split()[1] in absent)]
    return kept + [row for row in changes if row[0] != "@absent"]


def functions_of(level):
    rows = table("functions-2.0.tsv" if level == "user2" else
                 "functions-1.2.tsv")
    if level == "kernel":
        absent = {row[1] for row in table("kdat-1.2.tsv")
                  if row[0] == "@absent"}
        rows = [row for row in rows if row[0] not in absent]
        rows += table("functions-kdat-1.2.tsv")
    functions = {}
    for name, _, ctype, *_ in rows:
        functions.setdefault(name, []).append(ctype)
    return functions


def names_of(level):
    """Every name of the ordinary name space, and every macro."""
    names = set(functions_of(level))
    for row in rows_of(level):
        if row[0].startswith("@") or is_enumerator(row):
            names.add(row[1])
    return names


def check(condition, what):
    return '_Static_assert(%s, "%s");' % (condition, what)


def structs(level):
    rows = rows_of(level)
    kind = {row[2].split()[1]: row[2] for row in rows if row[0] == "@typedef"}
    for tag, field, offset, size in filter(is_member, rows):
        if field == "@sizeof":
            yield check("sizeof(%s) == %s" % (kind[tag], size),
                        "size of " + tag)
        elif field == "@alignof":
            yield check("_Alignof(%s) == %s" % (kind[tag], size),
                        "alignment of " + tag)
        else:
            where = "%s, %s" % (kind[tag], field)
            member = "((%s *)0)->%s" % (kind[tag], field)
            yield check("__builtin_offsetof(%s) == %s && sizeof(%s) == %s" %
                        (where, offset, member, size), where)


def enums(level):
    for tag, name, value in filter(is_enumerator, rows_of(level)):
        yield check("%s == %s" % (name, value), name)


def types(level):
    for word, name, target, *_ in rows_of(level):
        if word == "@typedef":
            yield check("__builtin_types_compatible_p(%s, %s)" %
                        (name, target), name)
        elif word == "@scalar" and target.endswith("ptr"):
            # 5 is the class of pointers
            yield check("sizeof(%s) == 8 && "
                        "__builtin_classify_type((%s)0) == 5" % (name, name),
                        name)
        elif word == "@scalar":
            sign = "<" if target[0] == "i" else ">"
            yield check("sizeof(%s) == %s && (%s)-1 %s 0" %
                        (name, target[1:], name, sign), name)


def macros(level):
    yield "#define TEXT(x)\t#x"
    yield "#define EXPANDED(x)\tTEXT(x)"
    for word, name, value, *_ in rows_of(level):
        if word == "@macro":
            # Some are pointers, which clang compares at compile time only
            # behind __builtin_constant_p.
            equal = "(long long)(%s) == %sLL" % (name, value)
            yield check("__builtin_constant_p(%s) ? %s : 0" % (equal, equal),
                        name)
        elif word == "@string":
            yield check('!__builtin_strcmp(%s, "%s")' % (name, value), name)
        elif word == "@alias":
            # What the other name stands for in turn does not matter.
            yield check("!__builtin_strcmp(EXPANDED(%s), EXPANDED(%s))" %
                        (name, value), name)
            yield "#ifndef %s\n#error no macro %s\n#endif" % (name, name)
    yield "#undef TEXT\n#undef EXPANDED"


def functions(level):
    for name, (result, *arguments) in functions_of(level).items():
        own = "__typeof__(&%s)" % name if name.islower() else name
        wanted = "%s (*)(%s)" % (result, ", ".join(arguments))
        yield check("__builtin_types_compatible_p(%s, %s)" % (own, wanted),
                    name)


def absent(level):
    """Declares what the level must not have."""
    names = set().union(*map(names_of, LEVELS))
    if level == "kernel":
        names |= {"IN", "OUT", "INOUT"}
    for name in sorted(names - names_of(level)):
        yield "#ifdef %s\n#error macro %s\n#endif" % (name, name)
        yield "enum { %s };" % name


def call_macros(level):
    """The macro of each table member, used with its arguments."""
    table_calls = [row[1][:-len("_func")] for row in rows_of(level)
                   if row[0] == "dat_provider" and row[1].endswith("_func")]
    prototypes = functions_of(level)
    for call in table_calls:
        if call in ("ia_open", "ia_close"):
            continue
        _, *arguments = (prototypes.get("dat_" + call) or
                         prototypes["DAT_%s_FUNC" % call.upper()])
        params = ", ".join("%s a%d" % (t, i) for i, t in enumerate(arguments))
        args = ", ".join("a%d" % i for i in range(len(arguments)))
        yield ("static inline __attribute__((unused)) DAT_RETURN call_%s(%s)"
               " { return DAT_%s(%s); }" % (call, params, call.upper(), args))


GROUPS = {f.__name__: f for f in (structs, enums, types, macros, functions,
                                  call_macros, absent)}


# Macros with parameters or values that a table cannot hold.
OTHER_MACROS = {"DAT_GET_SUBTYPE", "DAT_GET_TYPE", "DAT_HANDLE_TO_PROVIDER",
                "DAT_IS_WARNING", "DAT_OS_WAIT_PROXY_AGENT_NULL",
                "DAT_UPCALL_NULL", "dat_ia_open",
                "DAT_HANDLE_EXTENDEDOP", "DAT_IA_HA_RELATED",
                "dat_ib_post_fetch_and_add", "dat_ib_post_cmp_and_swap",
                "dat_ib_post_rdma_write_immed", "dat_ib_open_query",
                "dat_ib_close_query"}
# Names of our own.
OWN = {"DAT_POINTER_TO", "DAT_PROVIDER_CALL", "dat_handle_"}


def extra(level, text):
    known = names_of(level) | OTHER_MACROS | OWN
    known |= {part for row in rows_of(level) for part in row}
    known |= {row[2].split()[1] for row in rows_of(level)
              if row[0] == "@typedef"}
    for name in functions_of(level):
        known.add(name.upper())
    for name in ("functions-1.2.tsv", "functions-kdat-1.2.tsv",
                 "functions-2.0.tsv"):
        known |= {row[4].rstrip("[]") for row in table(name)}
    return sorted(set(re.findall(r"\b(?:DAT|dat)_\w+", text)) - known)


def main():
    level, wanted = sys.argv[1], sys.argv[2:]
    if level not in LEVELS:
        sys.exit(__doc__)
    if not wanted:
        print("\n".join(GROUPS))
        return
    if wanted == ["headers"]:
        print("\n".join(LEVELS[level]))
        return
    if wanted == ["extra"]:
        names = extra(level, sys.stdin.read())
        print("\n".join(names), end="\n" if names else "")
        sys.exit(bool(names))
    if wanted == ["all"]:
        wanted = list(GROUPS)
    print("/* Generated by tests/abi/layout.py %s */" % level)
    for header in LEVELS[level]:
        print("#include <%s>" % header)
    print("\n#ifndef __CHECKER__\t/* sparse cannot follow all of it */")
    for group in wanted:
        print("\n/* %s */" % group)
        print("\n".join(GROUPS[group](level)))
    print("\n#endif")


if __name__ == "__main__":
    main()
