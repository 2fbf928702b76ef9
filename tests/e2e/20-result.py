#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What warder run says came of a job: the object, the line on stderr, the exit status."""
# timeout: 120
import base64, json, os, re, signal, subprocess, sys, tempfile

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap
from tap import ok

WARDER = os.environ.get("WDR_BUILD", "build/plain") + "/bin/warder"
VALIDATOR = jsonschema.Draft202012Validator(json.load(open("docs/result.schema.json")))
TMP = tempfile.mkdtemp()


def run(*args, **kw):
    return subprocess.run([WARDER, "run", *args], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, check=False, **kw)


def result(*args):
    """The object of --json, and the exit status."""
    p = run("--json", *args)
    r = json.loads(p.stdout)
    errors = [f"{e.json_path}: {e.message}" for e in VALIDATOR.iter_errors(r)]
    ok(not errors, f"the object of {' '.join(args)[:60]} is what the schema says", *errors)
    return r, p.returncode


def policy(**sections):
    path = f"{TMP}/policy{tap.count}.json"
    with open(path, "w") as f:
        json.dump({"version": 1, **sections}, f)
    return path


ENDS = (  # arguments, exit status, reason, signal, what the explanation says
    (("true",), 0, "exited", None, None),
    (("sh", "-c", "exit 3"), 3, "exited", None, None),
    (("sh", "-c", "kill -SEGV $$"), 139, "signaled", "SIGSEGV", r"^ended by SIGSEGV"),
    (("-t", "300ms", "sleep", "9"), 124, "timeout", "SIGKILL", r"^wall-clock limit of 300ms reached$"),
    (("--cpu-time", "200ms", "sh", "-c", "while :; do :; done"), 137, "cpu-budget", "SIGKILL",
     r"^CPU budget of 200ms reached: 2\d\d(\.\d+)?ms used$"),
    (("-m", "40M", "python3", "-c", "x = b'1' * 10**8"), 137, "oom", "SIGKILL",
     r"^memory limit of 40M reached: the OOM killer took \d process"),
    (("--output", "4K", "yes"), 137, "output-limit", None, r"^more than 4K of output on stdout$"),
    (("--output", "4K", "sh", "-c", "yes >&2"), 137, "output-limit", None,
     r"^more than 4K of output on stderr$"),
    (("nosuchprogram",), 127, "error", None, r"nosuchprogram: not found$"),
    (("/etc/passwd",), 126, "error", None, r"/etc/passwd"),
    (("-v", "/nosuchsource:/x", "true"), 125, "error", None, r"/nosuchsource"),
)


def check_ends():
    for args, status, reason, signo, text in ENDS:
        name = " ".join(args)[:60]
        r, rc = result(*args)
        e = r["exit"]
        ok(rc == status, f"{name} exits with {status}", rc)
        ok(e["reason"] == reason, f"its reason is {reason}", e)
        ok(signo is None or e["signal"] == signo, f"its signal is {signo}", e)
        ok(re.search(text, e["explanation"]) if text else e["explanation"] is None,
           f"it is explained by {text}", e)
        p = run(*args)
        line = p.stderr.decode().splitlines()[-1:] if text else []
        killed = f"warder: j-[0-9a-z]{{10}} killed: {reason}: " if reason != "error" else "warder: "
        ok(not text or re.match(killed, line[0]), "the same stands on stderr", p.stderr)
        ok(text or not p.stderr, "and nothing for one that ended by itself", p.stderr)
        if reason not in ("exited", "error"):
            ok(b"warder" not in run("-q", *args).stderr, "-q says nothing")


def check_text():
    r, _ = result("printf", r'a\tb\n\342\202\254')
    ok(r["stdout"] == "a\tb\n\u20ac" and r["stdout_encoding"] == "utf-8", "text is text", r["stdout"])
    ok(r["stdout_bytes"] == 7 and not r["stdout_truncated"], "with its bytes counted", r)
    r, _ = result("sh", "-c", r"printf 'x\0\377'; printf err >&2")
    ok(base64.b64decode(r["stdout"]) == b"x\0\xff" and r["stdout_encoding"] == "base64",
       "what is no UTF-8 is base64", r["stdout"])
    ok(r["stderr"] == "err" and r["stderr_encoding"] == "utf-8", "each stream for itself", r["stderr"])
    p = policy(limits={"stdout": "1K", "on_output": "truncate"})
    r, rc = result("-p", p, "python3", "-c", "print('\u20ac' * 1000, end='')")
    ok(rc == 0 and r["stdout"] == "\u20ac" * 341, "a truncated text is cut between characters",
       r["stdout"][-3:], len(r["stdout"]))
    ok(r["stdout_truncated"] and r["stdout_bytes"] == 3000, "and says how long it was", r["stdout_bytes"])


def check_result_file():
    path = f"{TMP}/result.json"
    p = run("--result", path, "--name", "a-1", "sh", "-c", "echo out; echo err >&2; exit 4")
    r = json.load(open(path))
    ok((p.returncode, p.stdout, p.stderr) == (4, b"out\n", b"err\n"), "--result streams as usual", p)
    ok(r["stdout"] == "out\n" and r["stderr"] == "err\n" and r["name"] == "a-1", "and writes the object", r)
    ok(VALIDATOR.is_valid(r), "that the schema knows")
    p = run("--result", "/dev/full", "echo", "hello")
    ok(p.returncode == 125 and p.stdout == b"hello\n", "a full disk costs the exit status", p)
    ok(b"--result /dev/full" in p.stderr and b"No space" in p.stderr, "and is named", p.stderr)
    p = run("--result", f"{TMP}/no/such", "echo", "hello")
    ok(p.returncode == 125 and not p.stdout, "one that can't be opened costs no run", p)


def peak_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])


def check_memory():
    p = subprocess.Popen([WARDER, "run", "--json", "--output", "200M", "head", "-c", "100M", "/dev/zero"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    first = p.stdout.read(1)  # the job is over, the object begins, most of it is still to come
    kb = peak_kb(p.pid)
    rest = sum(len(b) for b in iter(lambda: p.stdout.read(1 << 20), b""))
    ok(p.wait(60) == 0 and first == b"{" and rest > 600_000_000, "100M of NUL come out escaped", rest)
    if not tap.SANITIZED:
        ok(kb < 10000, "in constant memory", f"{kb} kB")


def check_interrupt():
    p = subprocess.Popen([WARDER, "run", "--json", "head", "-c", "1M", "/dev/zero"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    p.stdout.read(1)
    p.send_signal(signal.SIGINT)
    try:
        ok(p.wait(5) == -signal.SIGINT, "an interrupt ends it while nobody reads its result", p.returncode)
    except subprocess.TimeoutExpired:
        ok(False, "an interrupt ends it while nobody reads its result")
        p.kill()
    p = subprocess.Popen([WARDER, "run", "sh", "-c", "echo on; sleep 60"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    ok(p.wait(10) == 143, "SIGTERM ends a job with 143", p.returncode)
    ok(b"killed: killed: warder got SIGTERM" in p.stderr.read(), "and is named")


def check_usage():
    marker = f"{TMP}/ran"
    for args, want in ((("--memry", "5M"), "did you mean --memory?"), (("--memory",), "wants a value"),
                       (("--json=1",), "takes no value"), (("-t", "soon"), "timeout"),
                       (("--name", "a b"), "--name"), (("-b", "docker"), "backend"), ((), "no PROGRAM")):
        p = run(*args, *(("touch", marker) if args not in ((), ("--memory",)) else ()))
        ok(p.returncode == 125 and want in p.stderr.decode(), f"{args} is refused: {want}", p)
        ok(p.stderr.count(b"\n") == 1, "in one line", p.stderr)


check_ends()
check_text()
check_result_file()
check_memory()
check_interrupt()
check_usage()
subprocess.run(["rm", "-rf", TMP], check=True)
sys.exit(tap.end())
