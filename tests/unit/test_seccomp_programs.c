/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile is strict, not useless: what people run works under nothing but the filter. A row
 * whose program is not there is skipped, or left out where packaging/deps.sh does not bring it.
 */
#include "seccomp_try.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#define MAX_SECONDS 120

struct program {
	const char *profile;
	bool optional;
	const char *needs; /* a program on PATH */
	const char *script;
};

static const struct program programs[] = {
	{ "default", false, "bash",
	  "set -m; seq 1000 | sort -rn | head -3 | tr '\\n' , >out; sleep 0.01 & wait;"
	  "[ \"$(cat out)\" = 1000,999,998, ]; mkdir -p a/b; cp -a out a/b; tar cf t.tar a; tar tf t.tar;"
	  "mkfifo fifo; find . -name out | xargs cat; touch -d yesterday out;"
	  "cat <(echo x) | grep -q x; chmod 755 out; ln -s out l; ln out h; df . >/dev/null; nice -n 5 true" },
	{ "default", false, "/usr/bin/python3",
	  "/usr/bin/python3 -c '\n"
	  "import threading, subprocess, multiprocessing, asyncio, sqlite3, tempfile, socket, os, mmap\n"
	  "t = [threading.Thread(target=lambda: None) for _ in range(8)]\n"
	  "[x.start() for x in t]; [x.join() for x in t]\n"
	  "assert subprocess.run([\"echo\", \"hi\"], capture_output=True).stdout == b\"hi\\n\"\n"
	  "subprocess.run([\"true\"], start_new_session=True, check=True)\n"
	  "with multiprocessing.get_context(\"fork\").Pool(2) as p: assert p.map(abs, [-1]) == [1]\n"
	  "asyncio.run(asyncio.create_subprocess_exec(\"true\"))\n"
	  "d = sqlite3.connect(\"db\"); d.execute(\"pragma journal_mode=wal\"); d.execute(\"create table t(a)\")\n"
	  "s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname()).close()\n"
	  "os.mkfifo(\"f\"); os.memfd_create(\"x\"); os.posix_spawn(\"/bin/true\", [\"true\"], {})\n"
	  "os.chmod(tempfile.mkdtemp(dir=\".\"), 0o700); mmap.mmap(-1, 4096)\n'" },
	{ "default", false, "node",
	  "node -e '\n"
	  "const {Worker} = require(\"worker_threads\"), cp = require(\"child_process\"), fs = require(\"fs\");\n"
	  "fs.writeFileSync(\"n\", \"x\"); fs.watch(\".\").close();\n"
	  "if (cp.execSync(\"echo hi\").toString() != \"hi\\n\") process.exit(1);\n"
	  "new Worker(\"1\", {eval: true}).on(\"exit\", () => {\n"
	  "  const s = require(\"net\").createServer(c => c.end()).listen(0, \"127.0.0.1\", () =>\n"
	  "    require(\"net\").connect(s.address().port).on(\"close\", () => process.exit(0)).resume());\n"
	  "});'" },
	{ "default", false, "gcc",
	  "printf '#include <stdio.h>\\nint main(void) { return puts(\"hi\") < 0; }\\n' >a.c;"
	  "gcc -O2 -g -flto a.c -o a; ./a; printf 'all: a\\n\\t./a\\na: a.c\\n\\tcc -o a a.c\\n' >Makefile;"
	  "rm a; make -j2" },
	{ "default", false, "go",
	  "printf 'package main\\nfunc main() { c := make(chan int); go func() { c <- 1 }(); println(<-c) }\\n'"
	  " >m.go; go run m.go" },
	{ "default", true, "java",
	  "printf 'class M { public static void main(String[] a) throws Exception {\\n"
	  "new ProcessBuilder(\"true\").start().waitFor(); Thread t = new Thread(() -> {}); t.start(); t.join();\\n"
	  "System.gc(); System.out.println(\"hi\"); } }\\n' >M.java; java -Xmx128m M.java" },
	{ "default", false, "git",
	  "export HOME=.; git init -q r; cd r; git config user.email a@b; git config user.name a; echo x >f;"
	  "git add f; git commit -qm m; git gc -q; git clone -q . ../c; cd ../c; git log | grep -q commit" },
	{ "default", false, "perl",
	  "perl -e 'print `echo hi`; fork; wait; open F, \">p\"; flock F, 2'" },
	{ "default", true, "ruby", "ruby -e 'Thread.new {}.join; puts `echo hi`'" },
	{ "default", false, "sqlite3",
	  "sqlite3 db 'pragma journal_mode=wal; create table t(a); insert into t values (1); vacuum;"
	  " select * from t'" },
	{ "strict", false, "bash",
	  "seq 1000 | sort -rn | head -3 >out; x=$(cat out); [ \"${x%%[!0-9]*}\" = 1000 ]" },
	{ "strict", false, "/usr/bin/python3",
	  "/usr/bin/python3 -c '\n"
	  "import threading, subprocess\n"
	  "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
	  "assert subprocess.run([\"echo\", \"hi\"], capture_output=True).stdout == b\"hi\\n\"\n'" },
	{ "strict", false, "gcc", "echo 'int main(void) { return 0; }' >a.c; gcc a.c -o a; ./a" },
	{ "strict", false, "sqlite3",
	  "sqlite3 db 'create table t(a); insert into t values (1); select * from t'" },
};

#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

/* In the child: the script, its output in the file "log". */
static void run_script(const struct wdr_seccomp_filter *f, const char *dir, const char *script)
{
	int log;

	if (chdir(dir) < 0)
		_exit(254);
	log = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (dup2(log, 1) < 0 || dup2(log, 2) < 0)
		_exit(254);
	enter(f);
	(void)alarm(MAX_SECONDS);
	(void)execlp("bash", "bash", "-euo", "pipefail", "-c", script, NULL);
	_exit(253);
}

/* @program: an absolute path, or a name to be found on PATH. */
static bool is_there(const char *program)
{
	char path[4096], *save = NULL;

	if (*program == '/')
		return access(program, X_OK) == 0;
	(void)snprintf(path, sizeof(path), "%s", getenv("PATH"));
	for (char *dir = strtok_r(path, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		char file[4200];

		(void)snprintf(file, sizeof(file), "%s/%s", dir, program);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static void print_log(const char *dir)
{
	char path[64], line[256];
	wdr_fclose_ FILE *log = NULL;

	(void)snprintf(path, sizeof(path), "%s/log", dir);
	log = fopen(path, "r");
	while (log && fgets(line, sizeof(line), log))
		print_error("%s", line);
}

static void works(void **state)
{
	const struct program *p = *state;
	const struct wdr_seccomp_spec spec = { .profile = p->profile };
	char dir[] = "/tmp/warder-seccomp-XXXXXX";
	struct wdr_seccomp_filter f;
	pid_t pid;
	int r;

	if (!is_there(p->needs))
		skip();
	f = build(&spec);
	assert_non_null(mkdtemp(dir));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run_script(&f, dir, p->script);
	r = reap(pid);
	if (r)
		print_log(dir);
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	wdr_seccomp_filter_free(&f);
	assert_int_equal(r, 0);
}

int main(void)
{
	struct CMUnitTest tests[N_PROGRAMS] = { 0 };
	char names[N_PROGRAMS][64];
	size_t n = 0;

	for (size_t i = 0; i < N_PROGRAMS; i++) {
		const struct program *p = &programs[i];

		if (p->optional && !is_there(p->needs))
			continue;
		(void)snprintf(names[n], sizeof(names[n]), "%s_works_under_%s", basename(p->needs),
			       p->profile);
		tests[n].name = names[n];
		tests[n].test_func = works;
		tests[n++].initial_state = (void *)(uintptr_t)p;
	}
	return _cmocka_run_group_tests("programs", tests, n, NULL, NULL);
}
