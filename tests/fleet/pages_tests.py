"""refhist fleet serve, over HTTP and in Chromium. usage: pages_tests.py --build DIR"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

from fleet_harness import DETAIL, FINDING, check, contains, equal, lacks, main


@contextlib.contextmanager
def served(f, user="reader"):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([f.program, "serve", "--listen", f"127.0.0.1:{port}"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**f.environment, "REFHIST_FLEET": f.server.url(user)})
    try:
        equal(server.stdout.readline(), f"http://127.0.0.1:{port}/ shows the project p\n", "first line")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        equal(server.wait(timeout=20), 0, "exit status of serve")
        server.communicate()


def page(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def story(f):
    for commit in range(1, 7):
        f.send(findings=[(FINDING, 8)] if commit > 2 else [], commit=f"c{commit}", places=[("grows", [100, 10 * commit, 50, 80 * commit, 400])])


def test_pages(f):
    story(f)
    with served(f) as url:
        status, headers, html = page(url + "/")
        equal(status, 200, html)
        contains(headers["Content-Security-Policy"], "default-src 'none'", "headers")
        contains(html, f'href="/finding/{FINDING}"', "findings")
        contains(html, "<polyline points=", "sparkline")
        status, _, html = page(f"{url}/finding/{FINDING}")
        for part in ("<h2>Since when</h2>", "first commit that has it:  c3", "<b>    3    struct conn *c = conn_new();</b>", "conn_new (conn.c:3)\nserve (a.c:3)"):
            contains(html, part, "finding")
        contains(page(url + "/growth")[2], "conn born in grows (a.c) by conn_new", "growth")
        contains(page(url + "/runs")[2], "<td>suite</td>", "runs")
        equal(page(url + "/style.css")[0], 200, "style")
        equal(page(url + "/finding/ffff")[0], 404, "no such finding")
        equal(page(url + "/nothing")[0], 404, "no such page")
        lacks(page(url + "/?q=nothing+like+that")[2], FINDING, "search without a script")
        contains(page(url + "/?q=SERVE")[2], FINDING, "search without a script")
        lacks(page(url + "/?branch=side")[2], FINDING, "filter")


def test_text_of_others(f):
    detail = {**DETAIL, "title": "<script>alert(1)</script>\"'&", "lines": ["</pre><b>"]}
    record = f.record()
    record["findings"][0]["detail"] = detail
    record["run"]["name"] = "<i>name"
    f.send(record)
    with served(f) as url:
        for path in ("/", f"/finding/{FINDING}", "/runs", "/?q=%22%3E%3Cscript%3E", "/growth?branch=%3Cb%3E"):
            html = page(url + path)[2]
            for bad in ("<script>alert", "</pre><b>", "<i>name", '"><script>', "<b>,"):
                lacks(html, bad, path)


def test_the_database_goes_away(f):
    story(f)
    with served(f) as url:
        equal(page(url + "/")[0], 200, "before")
        f.server.halt()
        status, _, html = page(url + "/")
        equal(status, 503, html)
        f.server.start()
        statuses = [page(url + "/")[0] for _ in range(3)]
        equal(statuses[-1], 200, f"after {statuses}")


def test_it_only_reads(f):
    """Even where its role may write."""
    story(f)
    with served(f, user="owner") as url:
        page(url + "/")
        equal(f.server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'refhist'"), "1", "one connection")
        for method in ("POST", "PUT", "DELETE"):
            try:
                with urllib.request.urlopen(urllib.request.Request(url + "/", data=b"x", method=method), timeout=20) as answer:
                    check(False, f"{method}: {answer.status}")
            except urllib.error.HTTPError as error:
                equal(error.code, 404, method)


def test_in_chromium(f):
    story(f)
    if shutil.which("chromium") is None:
        return
    with served(f) as url:
        for path, parts in [("/", [FINDING, "<polyline"]), (f"/finding/{FINDING}", ["<h2>Course</h2>"])]:
            done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={f.file('browser')}", "--no-first-run",
                                   "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
                                   "--dump-dom", url + path], text=True, capture_output=True, timeout=100, check=False)
            equal(done.returncode, 0, f"status of chromium ({done.stderr})")
            for part in parts:
                contains(done.stdout, part, path)
            equal(re.findall(r"CONSOLE.*", done.stderr), [], "what the browser complains of")
        picture = os.environ.get("REFHIST_PICTURES")
        if picture:
            for name, path in (("findings", "/"), ("finding", f"/finding/{FINDING}")):
                subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={f.file('browser')}", "--window-size=1100,900",
                                f"--screenshot={picture}/{name}.png", url + path], capture_output=True, timeout=100, check=False)


main(globals())
