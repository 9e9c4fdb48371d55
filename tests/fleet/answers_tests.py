"""The questions, as text and as JSON. usage: answers_tests.py --build DIR"""

from fleet_harness import FINDING, contains, equal, lacks, main

FLAKY, FIXED, OLD = "f" * 16, "a" * 16, "0" * 16


def story(f):
    """Five commits of four runs: one finding from the third on, a flaky one, one that the fourth mends."""
    for commit in range(1, 6):
        for run in range(4):
            findings = [(OLD, 2)] if run != 4 else []
            findings += [(FINDING, 8)] if commit >= 3 else []
            findings += [(FIXED, 1)] if commit < 4 else []
            findings += [(FLAKY, 1)] if commit >= 2 and run == commit % 4 else []
            f.send(findings=findings, commit=f"c{commit}", places=[("grows", [100, 10 * commit + run, 50, 80 * commit, 400]), ("still", [9, 5, 5, 40, 40])])


def test_findings(f):
    story(f)
    answer = f.ask("findings")
    equal((answer["schema"], answer["runs"], answer["numbers"]), ("refhist-fleet/1", 20, {"open": 3, "accepted": 0, "gone": 1}), "answer")
    found = {one["fingerprint"]: one for one in answer["findings"]}
    equal([(found[name]["runs_with"], found[name]["runs"], found[name]["flaky"]) for name in (OLD, FINDING, FLAKY)],
          [(20, 20, False), (12, 12, False), (4, 14, True)], "in how many of how many runs")
    text = f.says("findings")
    contains(text, f"{FINDING}  12 of 12 runs", "text")
    contains(text, "[open, flaky]", "text")
    contains(text, "3 open, 0 accepted, 1 gone in 20 runs of p", "text")
    lacks(text, FIXED, "text")
    contains(f.says("findings", "--all"), "[gone: not in the last 8 runs]", "text")
    f.send(branch="side", findings=[(FINDING, 1)])
    equal(f.ask("findings", "--branch", "side")["numbers"]["open"], 1, "of one branch")
    equal(f.ask("findings")["findings"][0]["branches"] and sorted({b for one in f.ask("findings")["findings"] for b in one["branches"]}),
          ["main", "side"], "branches")


def test_show(f):
    story(f)
    text = f.says("show", FINDING[:6])
    contains(text, "1 conn leaked: nothing points at them"[:14], "as refhist leaks shows it")
    contains(text, "part of the runs that show it, commit by commit: ··███", "course")
    contains(text, "c3", "course")
    shown = f.ask("show", FINDING)["finding"]
    equal([(point["commit"], point["runs"], point["runs_with"]) for point in shown["course"]][2:4], [("c3", 4, 4), ("c4", 4, 4)], "course")
    equal(shown["detail"]["example"]["events"][0]["stack"][1], "serve (a.c:3)", "stack")


def test_since(f):
    story(f)
    answer = f.ask("since", FINDING)
    equal((answer["first"]["commit"], answer["last_not"]["commit"], answer["rate"], answer["clean_before"]), ("c3", "c2", 1.0, 8), "answer")
    text = f.says("since", FINDING)
    contains(text, "first commit that has it:  c3", "text")
    contains(text, "it came in after c2", "text")
    flaky = f.says("since", FLAKY)
    contains(flaky, "first commit that has it:  c2", "text")
    contains(flaky, "more at commits before the first one", "how many clean runs it would take")
    contains(f.says("since", FIXED), "8 clean runs since: it is gone, with at least 95% confidence", "text")
    done = f.refhist("fleet", "since", FINDING, "--branch", "none")
    equal((done.returncode, done.stderr), (1, f"refhist: no run of the branch none has the finding {FINDING}\n"), "another branch")


def test_growth(f):
    story(f)
    places = f.ask("growth")["places"]
    equal([(place["function"], place["live_rises"]["slope"], place["bytes_rise"]["slope"]) for place in places], [("grows", 10.0, 80.0)], "places")
    text = f.says("growth")
    contains(text, "suite: conn born in grows (a.c) by conn_new", "text")
    contains(text, "+10 objects a commit (11.5 -> 51.5", "text")
    contains(f.says("growth", "--commits", "5", "--branch", "none"), "nothing rises", "text")
    equal(f.refhist("fleet", "growth", "--commits", "2").returncode, 2, "too few commits")


def test_runs_and_compare(f):
    story(f)
    runs = f.ask("runs", "--last", "100")["runs"]
    equal((len(runs), runs[0]["commit"], runs[-1]["commit"]), (20, "c5", "c1"), "runs")
    equal(len(f.ask("runs", "--commit", "c2", "--run-name", "suite", "--branch", "main")["runs"]), 4, "filtered")
    contains(f.says("runs", "--last", "1"), runs[0]["run"][:8], "text")
    answer = f.ask("compare", runs[-1]["run"][:10], runs[0]["run"])
    equal({one["fingerprint"]: one["in"] for one in answer["findings"]}, {OLD: "both", FIXED: "first", FINDING: "second"}, "findings")
    equal([(place["function"], place["live"]) for place in answer["places"]], [("grows", [10, 53])], "places")
    text = f.says("compare", runs[-1]["run"], runs[0]["run"])
    contains(text, "only in the second: leak of conn born in serve (a.c:3), see serve (a.c:5)", "text")
    contains(text, "alive at the end: 10 -> 53 (80 -> 400 bytes): conn born in grows", "text")


def test_the_same_ids_in_two_projects(f):
    """Every question keeps to its project, by its key and not by luck: each id is there twice."""
    story(f)
    f.server.sql(f"SELECT refhist.judge('p', '{OLD}', true, 'known')", user="triage")
    runs = [one["run"] for one in f.ask("runs", "--last", "100")["runs"]]
    f.server.sql("INSERT INTO refhist.history (project, run, part, bytes) SELECT project, id, 0, 'x' FROM refhist.run", database="fleet")
    questions = [["findings", "--all"], ["findings", "--branch", "main"], ["show", FLAKY], ["since", FINDING], ["growth"], ["runs"],
                 ["runs", "--commit", "c2"], ["compare", runs[-1], runs[0]]]
    before = [f.ask(*words) for words in questions]
    f.server.sql("INSERT INTO refhist.project (name) VALUES ('twin')", database="fleet")
    for table in ("series", "point", "finding", "place", "run", "finding_series", "finding_point", "judgement", "history"):
        f.server.sql(f"INSERT INTO refhist.{table} OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, jsonb_build_object('project', p.id))).* "
                     f"FROM refhist.{table} t, refhist.project p WHERE p.name = 'twin'", database="fleet")
    for words, answer in zip(questions, before):
        equal(f.ask(*words), answer, f"{words} with a twin")
        equal({**f.ask(*words, "--project", "twin"), "project": "p"}, answer, f"{words} of the twin")
    f.send(findings=[(OLD, 1), (FIXED, 1)])
    for words, answer in zip(questions, before):
        equal({**f.ask(*words, "--project", "twin"), "project": "p"}, answer, f"{words} of the twin, after a run of the other one")
    for words in (["compare", runs[0], runs[1]], ["history", runs[0], "-o", "x"]):
        done = f.refhist("fleet", *words, "--project", "none")
        equal((done.returncode, done.stderr), (1, f"refhist: no run {runs[0]} in the project none (refhist fleet runs shows them)\n"), words[0])


def test_accept_and_reopen(f):
    story(f)
    equal(f.refhist("fleet", "accept", FINDING, user="triage").returncode, 2, "without a reason")
    contains(f.refhist("fleet", "accept", FINDING, "--why", "x", user="reader").stderr, "grant this user", "a reader")
    equal(f.refhist("fleet", "accept", FINDING, "--why", "until 2.0", user="triage").stdout, f"accepted {FINDING}\n", "answer")
    contains(f.says("findings", "--all"), "[accepted by triage: until 2.0]", "text")
    lacks(f.says("findings"), FINDING, "text")
    contains(f.says("show", FINDING), "accepted by triage", "text")
    f.refhist("fleet", "reopen", FINDING, "--why", "2.0 is out", user="triage")
    contains(f.says("findings"), FINDING, "text")
    equal([one["accepted"] for one in f.ask("show", FINDING)["finding"]["judgements"]], [True, False], "who said what")


def test_empty(f):
    contains(f.says("findings"), "0 open, 0 accepted, 0 gone in 0 runs of p", "findings")
    contains(f.says("runs"), "no runs of p", "runs")
    contains(f.says("growth"), "nothing rises", "growth")


main(globals())
