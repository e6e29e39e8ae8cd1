#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""kdaplctl and the netlink family that it reads (A13), in the virtual machine, with kdapl
loaded: applications in both modes, one of another user, and kernel consumers are alive
meanwhile.  A part of rules.sh.

usage: ctl.py MODULES SHIM
"""
import contextlib
import errno
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

MODULES, SHIM = sys.argv[1:3]
# Another user need not get to where they were built.
PROGRAMS = tempfile.mkdtemp(dir="/tmp")
CTL = PROGRAMS + "/kdaplctl"
PINGPONG = PROGRAMS + "/dat-pingpong"
DEBUGFS = "/sys/kernel/debug/kdapl/objects"
NOBODY = 65534
TYPES = ["IA", "PZ", "LMR", "RMR", "EVD", "EP", "PSP", "RSP", "CR", "SRQ"]
counts = [0, 0]


def verdict(name, so, why=""):
    counts[not so] += 1
    print(("ok " if so else "FAIL ") + name + (f": {why}" if why and not so else ""), flush=True)


def wait_for(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"FAIL {what}: no success in {seconds} s")
        time.sleep(0.1)


def run(*argv, nobody=False):
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if nobody else {}
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, **who)


def ctl(*args, nobody=False, before=()):
    done = run(*before, CTL, "--json", *args, nobody=nobody)
    if done.returncode:
        sys.exit(f"FAIL kdaplctl {args}: {done.returncode} {done.stderr}")
    return json.loads(done.stdout)


# ---- who is alive ------------------------------------------------------------

def pingpong(mode, *args, nobody=False):
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if nobody else {}
    return subprocess.Popen([PINGPONG, *args], env=dict(os.environ, KDAPL_MODE=mode),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **who)


def server(mode, port, adapter="rxe1-1", **who):
    child = pingpong(mode, "-s", "-i", adapter, "-p", str(port), **who)
    line = child.stdout.readline()
    if b"listening" not in line:
        sys.exit(f"FAIL a server: {line}")
    return child


def client(mode, port, trips):
    return pingpong(mode, "-c", "10.9.0.2", "-i", "rxe0-1", "-p", str(port), "-m", "send",
                    "--sizes", "64", "-n", str(trips))


# With a shared receive queue of 9 that has 3 receives, and an endpoint on it
POOL = """
import ctypes, sys
dat = ctypes.CDLL(sys.argv[1])
evd_async, ia, pz, evd, srq, ep = (ctypes.c_void_p() for _ in range(6))
ref = ctypes.byref

class EpAttr(ctypes.Structure):
    _fields_ = [("service", ctypes.c_int), ("sizes", ctypes.c_uint64 * 2),
                ("qos_flags", ctypes.c_int * 3), ("counts", ctypes.c_int * 10),
                ("named", ctypes.c_void_p * 4)]

# Control sequences for the terminal of who looks at it: in UTF-8, in eight bits, in seven.
ctypes.CDLL(None).prctl(15, bytes([0xc2, 0x9b, 0x9b, 0x1b]) + b"2Jpool", 0, 0, 0)
attr = EpAttr()
attr.counts[:4] = 9, 9, 1, 1
print([dat.dat_ia_openv(b"rxe1-1", 8, ref(evd_async), ref(ia), 1, 2, 0),
       dat.dat_pz_create(ia, ref(pz)),
       dat.dat_evd_create(ia, 32, None, 0x60, ref(evd)),
       dat.dat_srq_create(ia, pz, (ctypes.c_int * 3)(9, 1, 0), ref(srq)),
       dat.dat_ep_create_with_srq(ia, pz, evd, evd, evd, srq, ref(attr), ref(ep)),
       *(dat.dat_srq_post_recv(srq, 0, None, ctypes.c_uint64(i)) for i in range(3))],
      flush=True)
sys.stdin.read()
"""


def pool():
    child = subprocess.Popen([sys.executable, "-c", POOL, PROGRAMS + "/libdat.so.1"],
                             env=dict(os.environ, KDAPL_MODE="forwarded"),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    line = child.stdout.readline()
    if json.loads(line or "1") != [0] * 8:
        sys.exit(f"FAIL a process with an SRQ: {line}")
    return child


def connected(pid):
    return any(o["state"] == "CONNECTED" for o in ctl("-p", str(pid), "objects", "ep"))


class World:
    """Two connections, one in each mode; a server of another user; kernel consumers."""

    def __init__(self):
        subprocess.run(["insmod", MODULES + "/samples/kdat-pingpong/kdat-pingpong.ko",
                        "role=both", "ia=rxe0-1", "server_ia=rxe1-1", "peer=10.9.0.2"],
                       check=True)
        self.servers = {"forwarded": server("forwarded", 18600),
                        "passthrough": server("passthrough", 18601)}
        self.clients = {"forwarded": client("forwarded", 18600, 2000000),
                        "passthrough": client("passthrough", 18601, 2000000)}
        self.other = server("forwarded", 18602, "rxe0-1", nobody=True)
        self.pool = pool()
        for child in self.clients.values():
            wait_for("a connection", lambda pid=child.pid: connected(pid))

    def children(self):
        return [*self.clients.values(), *self.servers.values(), self.other, self.pool]

    def end(self):
        for child in self.children():
            child.kill()
            child.wait()
        subprocess.run(["rmmod", "kdat_pingpong"], check=True)


# ---- what is told ------------------------------------------------------------

def adapters():
    found = {a["name"]: a for a in ctl("adapters")}
    verdict("A13 adapters: names, devices, protocol, addresses, passthrough",
            sorted(found) == ["rxe0-1", "rxe1-1"] and
            all(a["device"] == name[:4] and a["port"] == 1 and a["protocol"] == "RoCE" and
                a["passthrough"] == "yes" and f"10.9.0.{int(name[3]) + 1}" in a["addresses"]
                for name, a in found.items()), found)
    verdict("A13 adapters: limits, counters",
            all(len(a["limits"]) == 11 and len(a["counters"]) == 12 and
                all(a["limits"].values()) and a["counters"]["established"] >= 2
                for a in found.values()), found)


def files(world):
    told = {f.get("pid"): f for f in ctl("files")}
    for mode in "forwarded", "passthrough":
        for end in "client", "server":
            mine = told.get((world.clients if end == "client" else world.servers)[mode].pid, {})
            verdict(f"A13 the open file of a {end}: {mode}, owner, objects, memory",
                    mine.get("uid") == 0 and mine.get("command") == "dat-pingpong" and
                    mine.get(mode + "_ias") == 1 and
                    mine["forwarded_ias"] + mine["passthrough_ias"] == 1 and
                    mine["objects"]["IA"] == 1 and mine["objects"]["EP"] >= 1 and
                    (mine["pages"] > 0) == (mode == "forwarded"), mine)
    kernel = told.get(None, {})
    verdict("A13 kernel consumers: one line",
            kernel.get("file") == 0 and "uid" not in kernel and
            kernel["objects"]["IA"] >= 2 and kernel["objects"]["PSP"] >= 1, kernel)


def ends(world, objects):
    for mode in "forwarded", "passthrough":
        pid, port = world.clients[mode].pid, 18600 if mode == "forwarded" else 18601
        mine = [o for o in objects if o.get("pid") == pid]
        handles = {o["handle"]: o["type"] for o in mine}
        ep = next(o for o in mine if o["type"] == "EP")
        verdict(f"A13 an endpoint, {mode}: state, peer, queue pair, what it uses",
                ep["state"] == "CONNECTED" and ep["remote"] == "10.9.0.2" and
                ep["remote_qual"] == port and ep["qp"] > 0 and
                handles.get(ep["pz"]) == "PZ" and handles.get(ep["recv_evd"]) == "EVD" and
                handles.get(ep["request_evd"]) == "EVD" and
                handles.get(ep["connect_evd"]) == "EVD" and handles.get(ep["ia"]) == "IA", ep)
        verdict(f"A13 an endpoint, {mode}: outstanding, as far as the kernel knows",
                ep["max_requests"] > 0 and ep["max_recvs"] > 0 and
                ("requests" in ep) == (mode == "forwarded") and
                ep.get("requests", 0) <= ep["max_requests"] and
                ep.get("recvs", 0) <= ep["max_recvs"], ep)
        point = [o for o in objects if o["type"] == "PSP" and
                 o.get("pid") == world.servers[mode].pid]
        verdict(f"A13 a service point, {mode}: its qualifier",
                [p["local_qual"] for p in point] == [port], point)


def memory_of(objects, pid):
    return [o for o in objects if o["type"] == "LMR" and o.get("pid") == pid]


def objects_told(world):
    told = ctl("objects")
    ends(world, told)
    lmrs = memory_of(told, world.clients["forwarded"].pid)
    verdict("A13 an LMR: length, pages, context, rights",
            lmrs and all(0 < o["length"] <= o["pages"] * os.sysconf("SC_PAGE_SIZE") and
                         {"local read", "local write"} & set(o["rights"]) for o in lmrs) and
            all(re.fullmatch("0x[0-9a-f]{8}", o["lmr_context"]) for o in lmrs), lmrs)
    evds = [o for o in told if o["type"] == "EVD"]
    verdict("A13 an EVD: events, length, completions, overflow",
            all(o["queued"] <= o["max_queued"] + 64 and "overflowed" in o and "cqes" in o
                for o in evds) and any(o["cqes"] > 0 for o in evds), evds)
    mine = {o["type"]: o for o in told if o.get("pid") == world.pool.pid}
    verdict("A13 an SRQ: state, outstanding receives and the most, mark, PZ, pages",
            mine["SRQ"]["state"] == "OPERATIONAL" and mine["SRQ"]["recvs"] == 3 and
            mine["SRQ"]["max_recvs"] == 9 and mine["SRQ"]["low_watermark"] == 0 and
            mine["SRQ"]["users"] == 1 and mine["SRQ"]["pz"] == mine["PZ"]["handle"] and
            mine["SRQ"]["pages"] > 0, mine)
    verdict("A13 an endpoint on an SRQ: which, and no receives of its own",
            mine["EP"]["srq"] == mine["SRQ"]["handle"] and "recvs" not in mine["EP"], mine)
    kernel = [o for o in told if o["file"] == 0]
    verdict("A13 of kernel consumers no key and no address is told",
            kernel and not any("rmr_context" in o or "start" in o for o in kernel) and
            not re.search("ffff[89a-f][0-9a-f]{11}", json.dumps(told)), kernel)
    one = ctl("objects", "ep")
    verdict("A13 objects of one type", one and {o["type"] for o in one} == {"EP"})


def same_as_debugfs(world):
    """Of those who do nothing just now."""
    told = ctl("objects")
    with open(DEBUGFS, encoding="ascii") as file:
        spaces = re.split("^space ", file.read(), flags=re.M)
    shown = {s.split(":")[0]: sorted(re.findall("token ([0-9a-f]{16})", s)) for s in spaces}
    for mode, pid in ("forwarded", world.other.pid), \
            ("passthrough", world.servers["passthrough"].pid):
        mine = sorted(o["handle"] for o in told if o.get("pid") == pid)
        verdict(f"A13 netlink and debugfs tell of the same objects, {mode}",
                mine and mine == shown.get(f"pid {pid}"), (mine, shown))


# ---- the program -------------------------------------------------------------

def waits_for_pipe(pid):
    # The stack, since User Mode Linux has no name in wchan.
    with open(f"/proc/{pid}/stack", encoding="ascii") as file:
        return "pipe_write" in file.read()


def ended_by(process, number):
    process.send_signal(number)
    return process.poll() is not None


def commands():
    words = {"adapters": "RoCE", "counters": "ESTABLISHED", "files": "dat-pingpong",
             "processes": "passthrough", "objects": "CONNECTED", "show": "CONNECTED",
             "top": "memory"}
    for command, word in words.items():
        more = ["-n", "2", "-d", "0.1"] if command == "top" else []
        done = run(CTL, command, *more)
        verdict(f"A13 kdaplctl {command}: a table, and JSON",
                done.returncode == 0 and word in done.stdout and not done.stderr and
                not re.search(r"[ \t]$", done.stdout, re.M) and ctl(command, *more),
                done.stdout + done.stderr)
    for command in "files", "processes", "show":
        shown = subprocess.run([CTL, command], capture_output=True, timeout=120,
                               check=True).stdout
        verdict(f"A13 kdaplctl {command}: no byte that could command a terminal",
                b"2Jpool" in shown and not set(shown) - set(range(32, 127)) - {10}, shown)
    verdict("A13 kdaplctl top: as often as asked", len(ctl("top", "-n", "3", "-d", "0.1")) == 3)
    for number in signal.SIGINT, signal.SIGTERM:
        top = subprocess.Popen([CTL, "--json", "top", "-d", "0.1"], stdout=subprocess.PIPE)
        shown = b"".join(top.stdout.readline() for _ in range(3))
        top.send_signal(number)
        shown += top.stdout.read()
        verdict(f"A13 kdaplctl top: JSON as a whole after {number.name}",
                top.wait() == 0 and shown.endswith(b"]\n") and json.loads(shown), shown[-200:])
    # A reader that reads no more stops it in the middle; the second signal ends it.
    top = subprocess.Popen([CTL, "--json", "top", "-d", "0.001"], stdout=subprocess.PIPE)
    top.stdout.readline()
    wait_for("kdaplctl waits for its reader", lambda: waits_for_pipe(top.pid))
    wait_for("two signals end kdaplctl", lambda: ended_by(top, signal.SIGINT))
    verdict("A13 kdaplctl top: ends although nobody reads", top.returncode == -signal.SIGINT,
            top.returncode)
    # Who starts it in the background of a script without job control wants it so.
    top = subprocess.Popen([CTL, "--json", "top", "-d", "0.1", "-n", "5"],
                           stdout=subprocess.PIPE,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    shown = top.stdout.readline()
    top.send_signal(signal.SIGINT)
    shown += top.stdout.read()
    verdict("A13 kdaplctl top: a signal that is ignored", top.wait() == 0 and
            len(json.loads(shown)) == 5, shown[-200:])
    for bad in [], ["what"], ["objects", "cno"], ["files", "x"], ["-n", "0", "top"], \
            ["-p", "-1", "files"], ["-d", "nan", "top"], ["--no-such"]:
        done = run(CTL, *bad)
        verdict(f"A13 kdaplctl {bad}: refused with a reason",
                done.returncode == 2 and done.stderr and not done.stdout, done)


# ---- who sees what -----------------------------------------------------------

def users(world):
    mine = {world.other.pid}
    for what in "files", "objects":
        seen = {o.get("pid") for o in ctl(what, nobody=True)}
        verdict(f"A13 without root: one's own {what} alone", seen == mine, seen)
        seen = {o.get("pid") for o in ctl(what, nobody=True, before=["unshare", "-Ur"])}
        verdict(f"A13 root of a user namespace of one's own: one's own {what} alone",
                seen == mine, seen)
        verdict(f"A13 in a network namespace of one's own: no {what}",
                ctl(what, before=["unshare", "-n"]) == [] and
                ctl(what, nobody=True, before=["unshare", "-Urn"]) == [])
    # As a set-user-ID program would be: its real user has started it, and must not see it.
    privileged = subprocess.Popen(
        ["python3", "-c", "import os, sys\nos.open('/dev/kdapl', os.O_RDWR)\n"
         "print(flush=True)\nsys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        preexec_fn=lambda: os.setresuid(NOBODY, 0, 0))
    privileged.stdout.readline()
    verdict("A13 a set-user-ID program: not shown to the user who has started it",
            privileged.pid in {f.get("pid") for f in ctl("files")} and
            {f.get("pid") for f in ctl("files", nobody=True)} == mine, ctl("files"))
    privileged.communicate()
    verdict("A13 adapters: where they can be opened, for everybody",
            len(ctl("adapters", nobody=True)) == 2 and
            ctl("adapters", before=["unshare", "-n"]) == [])
    inner = ctl("files", before=["unshare", "-p", "-f", "--mount-proc"])
    verdict("A13 in another process namespace: files without a number of a process",
            len(inner) >= 6 and not any("pid" in f for f in inner), inner)


# ---- the family itself -------------------------------------------------------

GENL_CTRL, DUMP, REQUEST, DONE, ERROR = 16, 0x300, 1, 3, 2
CMD_ADAPTERS, CMD_FILES, CMD_OBJECTS = 1, 2, 3


def attribute(kind, value, length=None):
    data = struct.pack("HH", (4 + len(value)) if length is None else length, kind) + value
    return data + bytes(-len(data) % 4)


def attributes(message):
    found, at = {}, 4
    while at < len(message):
        length, kind = struct.unpack_from("HH", message, at)
        found[kind & 0x3fff] = message[at + 4:at + length]
        at += -(-length // 4) * 4
    return found


class Netlink:
    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.sock.bind((0, 0))
        self.family = GENL_CTRL
        answer = self.ask(3, attribute(2, b"kdapl\0"), flags=0)[1][0]
        self.family = struct.unpack_from("H", attributes(answer)[1])[0]

    def ask(self, cmd, attrs=b"", flags=DUMP, reserved=0, size=4096, length=None):
        """The errno of the answer, its messages, and in how many packets they came."""
        payload = struct.pack("BBH", cmd, 1, reserved) + attrs
        head = struct.pack("IHHII", length or 16 + len(payload), self.family,
                           REQUEST | flags, 1, 0)
        self.sock.send(head + payload)
        messages, packets = [], 0
        while True:
            data = self.sock.recv(size)
            packets += 1
            while data:
                n, kind, flags_in = struct.unpack_from("IHH", data)
                if kind == ERROR:
                    return -struct.unpack_from("i", data, 16)[0], messages, packets
                if kind == DONE:
                    return -struct.unpack_from("i", data, 16)[0], messages, packets
                messages.append(data[16:n])
                data = data[-(-n // 4) * 4:]
                if not flags_in & 2 and not data:
                    return 0, messages, packets


A_FILE, A_TYPE, A_STATE = 11, 19, 27


def hostile():
    nl = Netlink()
    u32, u64 = struct.Struct("I").pack, struct.Struct("Q").pack
    bad = [
        ("an unknown command", errno.EOPNOTSUPP, {"cmd": 99}),
        ("command 0", errno.EOPNOTSUPP, {"cmd": 0}),
        ("no dump", errno.EOPNOTSUPP, {"cmd": CMD_OBJECTS, "flags": 0}),
        ("the reserved field", errno.EINVAL, {"cmd": CMD_FILES, "reserved": 7}),
        ("an attribute where none is taken", errno.EINVAL,
         {"cmd": CMD_FILES, "attrs": attribute(A_TYPE, u32(1))}),
        ("an attribute of answers", errno.EINVAL,
         {"cmd": CMD_OBJECTS, "attrs": attribute(A_STATE, u32(1))}),
        ("an unknown attribute", errno.EINVAL,
         {"cmd": CMD_OBJECTS, "attrs": attribute(4000, u32(1))}),
        ("type 0", errno.ERANGE, {"cmd": CMD_OBJECTS, "attrs": attribute(A_TYPE, u32(0))}),
        ("type 11", errno.ERANGE, {"cmd": CMD_OBJECTS, "attrs": attribute(A_TYPE, u32(11))}),
        ("a short type", errno.ERANGE,
         {"cmd": CMD_OBJECTS, "attrs": attribute(A_TYPE, b"\1")}),
        ("a long type", errno.EINVAL,
         {"cmd": CMD_OBJECTS, "attrs": attribute(A_TYPE, u64(1))}),
        ("a short file", errno.ERANGE,
         {"cmd": CMD_OBJECTS, "attrs": attribute(A_FILE, u32(1))}),
        ("an attribute behind the end", errno.EINVAL,
         {"cmd": CMD_OBJECTS, "attrs": attribute(A_TYPE, u32(1), 400)}),
        ("an attribute shorter than its head", errno.EINVAL,
         {"cmd": CMD_OBJECTS, "attrs": attribute(A_TYPE, u32(1), 2)}),
        ("bytes behind the attributes", errno.EINVAL,
         {"cmd": CMD_OBJECTS, "attrs": attribute(A_TYPE, u32(1)) + b"\7\0"}),
        ("a head cut off", errno.EINVAL, {"cmd": CMD_OBJECTS, "length": 18}),
    ]
    for what, number, how in bad:
        got, messages, _ = nl.ask(**how)
        # Kernels differ in the errno of a length or a range.
        allowed = {number, errno.EINVAL} if number == errno.ERANGE else {number}
        verdict(f"A13 netlink, {what}: refused", got in allowed and not messages,
                (got, len(messages)))
    everything = nl.ask(CMD_OBJECTS)
    verdict("A13 netlink: more than a packet holds, and not twice",
            everything[0] == 0 and everything[2] > 2 and
            len(set(everything[1])) == len(everything[1]), everything[2])
    none = nl.ask(CMD_OBJECTS, attribute(A_FILE, u64(1 << 60)))
    kernel = nl.ask(CMD_OBJECTS, attribute(A_FILE, u64(0)))
    verdict("A13 netlink: the objects of one file",
            none[:2] == (0, []) and kernel[0] == 0 and
            0 < len(kernel[1]) < len(everything[1]))


@contextlib.contextmanager
def as_user(uid):
    """Without capabilities, unless root."""
    os.setresuid(uid, uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def sockets_of_others(world):
    """One process may open a socket, and another one, such as a set-user-ID program whose
    standard output it is, write the request: what one of them may not see is not shown."""
    stranger = NOBODY - 1
    number = {f.get("pid"): f["file"] for f in ctl("files")}
    mine, everybodys = {number[world.other.pid]}, set(number.values())
    for opener, writer, sees in ((0, 0, everybodys), (NOBODY, 0, mine), (0, NOBODY, mine),
                                 (NOBODY, NOBODY, mine), (NOBODY, stranger, set()),
                                 (stranger, NOBODY, set()), (stranger, 0, set())):
        with as_user(opener):
            nl = Netlink()
        with as_user(writer):
            answers = {cmd: nl.ask(cmd) for cmd in (CMD_FILES, CMD_OBJECTS)}
        for cmd, (number_of_error, messages, _) in answers.items():
            seen = {struct.unpack("Q", attributes(m)[A_FILE])[0] for m in messages}
            verdict(f"A13 netlink, socket of user {opener}, command {cmd} by user {writer}: "
                    "what both may see", number_of_error == 0 and seen == sees, (seen, sees))


def come_and_go(world):
    """Objects and files come and go under the dumps; who stays is in each, once."""
    mine = sorted(o["handle"] for o in ctl("objects") if o.get("pid") == world.other.pid)
    rounds, bad, lives = 0, [], 0
    while lives < 12 and not bad:
        child = client("forwarded" if lives & 1 else "passthrough", 18515, 3)
        while child.poll() is None:
            told = [o["handle"] for o in ctl("objects") if o.get("pid") == world.other.pid]
            rounds += 1
            if sorted(told) != mine:
                bad.append(told)
            if lives % 3 == 2 and rounds & 1:
                child.send_signal(signal.SIGKILL)
        child.wait()
        lives += 1
    verdict(f"A13 dumps while objects come and go ({lives} processes)", not bad, (mine, bad))


# ---- rdma resource -----------------------------------------------------------

def resources(world):
    """The RDMA core's own list has what is ours by our name; uverbs' by the process."""
    for what in "qp", "cq", "pd", "mr", "cm_id", "srq":
        done = run("rdma", "-j", "resource", "show", what)
        if what == "srq" and done.returncode:
            print("-- rdma(8) here does not know SRQs")
            continue
        listed = json.loads(done.stdout)
        kernel = [r for r in listed if r.get("comm") in ("kdapl", "[kdapl]")]
        verdict(f"A13 rdma resource show {what}: [kdapl]", kernel, listed)
        pids = {r.get("pid") for r in listed}
        if what in ("qp", "cq", "pd", "mr"):
            verdict(f"A13 rdma resource show {what}: the process, in passthrough alone",
                    world.clients["passthrough"].pid in pids and
                    world.clients["forwarded"].pid not in pids, listed)


def main():
    for name in "kdaplctl", "dat-pingpong", "libdat.so.1":
        shutil.copy(f"{SHIM}/{name}", PROGRAMS)
    os.chmod(PROGRAMS, 0o755)
    world = World()
    try:
        adapters()
        files(world)
        objects_told(world)
        same_as_debugfs(world)
        commands()
        users(world)
        hostile()
        sockets_of_others(world)
        resources(world)
        come_and_go(world)
        before = ctl("counters")[0]["counters"]
        world.clients["forwarded"].kill()
        pid = world.clients["forwarded"].pid
        wait_for("a killed process", lambda: not ctl("-p", str(pid), "files"))
        after = ctl("counters")[0]["counters"]
        verdict("A13 counters: a flush more when a process is killed",
                after["flushes"] > before["flushes"], (before, after))
    finally:
        world.end()
    print(f"{counts[0]} passed, {counts[1]} failed")


main()
