"""Terms of rules and settings of a policy, as a task meets them: query, content type, {task}, a policy above, the end by denials."""

import json
import textwrap

from budget_runs import TOOLS

POLICY = """policy: terms/1
rules:
  - id: search
    allow: GET http://raw.test/search
    query: {project: '42', page: {regex: '[0-9]{1,4}', optional: true}}
  - id: report
    allow: PUT http://raw.test/drafts/{task}/report.json
    query: none
    content_type: application/json
  - id: web
    allow: http://allowed.test/**
"""


def inside(sallyport, code, policy=POLICY, **how):
    program = TOOLS + textwrap.dedent(code) + "\nprint(json.dumps(out))\n"
    return sallyport(["/usr/bin/python3", "-IS", "-c", program], policy=policy, timeout=40, **how)


def test_policy_010_a_query_has_its_keys_and_no_others(lab, sallyport):
    done = inside(sallyport, """
        def reason(query):
            answer = ask("http://raw.test/search" + query)[0]
            return problem(answer)["reason"] if status(answer) == 403 else status(answer)
        out["refused"] = [reason(q) for q in ["?project=42&project=7", "?project=7&project=42", "?project[]=7&project=42", "?PROJECT=7",
                                              "?project=42;project=7", "?proj%65ct=7", "", "?project=42&x=1", "?project=42&page=x"]]
        out["allowed"] = [reason(q) for q in ["?project=42", "?proj%65ct=42&page=7"]]
    """)
    out = json.loads(done.stdout)
    assert set(out["refused"]) == {"query_not_allowed"} and out["allowed"] == [200, 200], out
    sent = b"".join(c["data"] for c in lab.connections("raw"))
    assert sent.count(b"GET /search?") == 2 and b"=7&" not in sent


def test_a_body_has_the_type_that_is_listed_and_goes_to_the_tasks_own_path(lab, sallyport):
    done = inside(sallyport, """
        task = problem(ask("http://denied.test/")[0])["task"]
        def put(types, path=f"/drafts/{task}/report.json", body=b"{}"):
            extra = "".join(f"Content-Type: {t}\\r\\n" for t in types) + f"Content-Length: {len(body)}\\r\\n"
            answer = ask("http://raw.test" + path, "PUT", extra, body)[0]
            return problem(answer)["reason"] if status(answer) == 403 else status(answer)
        out["refused"] = [put(t) for t in [[], ["text/plain"], ["application/json", "application/json"], ["application/json, text/plain"]]]
        out["allowed"] = [put(["application/json"]), put(["Application/JSON; charset=utf-8"])]
        out["elsewhere"] = [put(["application/json"], "/drafts/another/report.json"), put(["application/json"], "/drafts/{task}/report.json")]
    """)
    out = json.loads(done.stdout)
    assert set(out["refused"]) == {"content_type_not_allowed"} and out["allowed"] == [200, 200], out
    assert set(out["elsewhere"]) == {"path_not_allowed"}, out
    assert b"".join(c["data"] for c in lab.connections("raw")).count(b"PUT ") == 2


def test_policy_004_a_policy_above_the_tasks_has_to_allow_too(lab, sallyport, tmp_path):
    above, config = tmp_path / "company.yaml", tmp_path / "appliance.yaml"
    above.write_text("policy: company/1\nrules:\n  - {id: web, allow: 'GET http://*.allowed.test/**'}\n  - {id: web-2, allow: 'GET http://allowed.test/**'}\n")
    config.write_text(lab.config.read_text() + f"within: {above}\n")
    policy = "policy: task/1\nrules:\n  - {id: all, allow: 'http://allowed.test/**'}\n"
    done = inside(sallyport, """
        refused = ask("http://allowed.test/", "POST", "Content-Length: 0\\r\\n")[0]
        out["refused"] = problem(refused)["reason"]; out["allowed"] = status(ask("http://allowed.test/")[0])
    """, policy, config=config)
    assert json.loads(done.stdout) == {"refused": "not_within_ceiling", "allowed": 200}, done
    never = inside(sallyport, "", policy + "  - {id: other, allow: 'http://raw.test/**'}\n", config=config)
    assert never.exit == 125 and "company/1, which this policy is within, has no rule for it" in never.stderr, never


def test_a_task_that_is_denied_too_often_is_ended_by_policy(lab, sallyport):
    done = inside(sallyport, """
        for i in range(9): ask(f"http://denied{i}.test/")
        time.sleep(8)
    """, POLICY + "on_denial: {end_after: 5}\n")
    assert done.exit == 121 and done.receipt["outcome"] == "policy_denial", done
    fewer = inside(sallyport, "[ask(f'http://denied{i}.test/') for i in range(4)]", POLICY + "on_denial: {end_after: 5}\n")
    assert fewer.exit == 0, fewer
