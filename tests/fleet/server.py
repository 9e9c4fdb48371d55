"""A PostgreSQL server of the distribution in a folder of its own: as a user without rights, on a socket, gone afterwards."""

import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time

OWNER = "postgres"


def _programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise RuntimeError("PostgreSQL is not there: tests/install.sh test")
    return found[-1]


class Server:
    """Started at once; `stop` takes it away with its folder."""

    def __init__(self, settings=()):
        self.folder = tempfile.mkdtemp(prefix="refhist-fleet-", dir="/tmp")
        self.data = os.path.join(self.folder, "data")
        self.settings = ["listen_addresses=''", f"unix_socket_directories='{self.folder}'", "fsync=off", "max_connections=100",
                         "shared_buffers=64MB", *settings]
        self._as_user = []
        if os.geteuid() == 0:  # PostgreSQL does not run as root
            user = pwd.getpwnam("nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        os.chmod(self.folder, 0o755)
        self._run("initdb", "-D", self.data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.start()
        self.sql("CREATE ROLE owner LOGIN CREATEROLE", "CREATE DATABASE fleet OWNER owner")

    def _run(self, program, *words, check=True):
        return subprocess.run([*self._as_user, os.path.join(_programs(), program), *words], cwd=self.folder, check=check,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        options = " ".join(f"-c {setting}" for setting in self.settings)
        self._run("pg_ctl", "-D", self.data, "-l", os.path.join(self.folder, "log"), "-o", options, "-w", "start")

    def kill(self):
        """As a machine that loses its power."""
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
            os.kill(int(file.readline()), 9)
        # Its children end by themselves; a new one starts only then.

    def halt(self):
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop", check=False)

    def stop(self):
        self.halt()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, user, database="fleet"):
        return f"host={self.folder} dbname={database} user={user}"

    def sql(self, *statements, user=OWNER, database=None, check=True):
        """Their output, a row a line, columns separated by bars."""
        database = database or ("postgres" if user == OWNER else "fleet")
        done = subprocess.run([os.path.join(_programs(), "psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", self.url(user, database),
                               *[word for statement in statements for word in ("-c", statement)]],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", check=False)
        if check and done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout.strip() if check else done

    @contextlib.contextmanager
    def small_disk(self, megabytes):
        """A tablespace "small" on a file system of that size; None where this user may not mount one."""
        place = os.path.join(self.folder, "small")
        os.mkdir(place)
        may = os.geteuid() == 0 and shutil.which("mount") is not None
        mounted = may and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "refhist-test", place],
                                         stderr=subprocess.DEVNULL, check=False).returncode == 0
        if not mounted:
            os.rmdir(place)
            yield None
            return
        try:
            os.mkdir(os.path.join(place, "space"))
            shutil.chown(os.path.join(place, "space"), "nobody")
            self.sql(f"CREATE TABLESPACE small LOCATION '{place}/space'")
            yield place
        finally:
            self.sql("DROP DATABASE IF EXISTS fleet", check=False)
            self.sql("DROP TABLESPACE IF EXISTS small", check=False)
            subprocess.run(["umount", "-l", place], check=False)
            os.rmdir(place)

    def wait_for(self, query, answer, seconds=10):
        end = time.time() + seconds
        while self.sql(query) != answer:
            if time.time() > end:
                raise AssertionError(f"{query} is not {answer}: {self.sql(query)}")
            time.sleep(0.02)

    @contextlib.contextmanager
    def session(self, statements):
        """A session of the owner's that stays open, with what it has locked."""
        process = subprocess.Popen([os.path.join(_programs(), "psql"), "-X", "-q", "-A", "-t", self.url(OWNER, "fleet")], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/")
        process.stdin.write(statements + "\nSELECT 'ready';\n")
        process.stdin.flush()
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
            process.communicate()
