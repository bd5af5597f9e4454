//! The digest that a model sees of each kind of text.

use expect_test::{Expect, expect};

use super::templates::Templates;
use crate::budget::{Fitted, Order, RecoveryCall, RecoveryForm, Stage, fit};
use crate::prune::{Deadline, Lexical, Lines, SourceType};

fn digest(text: &str, max_chars: usize, source: Option<SourceType>) -> Fitted {
    let order = Order {
        max_chars,
        goal: None,
        source,
        recovery: RecoveryCall {
            tool: "recover_text",
            receipt: "prn_1",
            form: RecoveryForm::Direct,
        },
    };
    let fitted = fit(text, &order, &Lexical, &Deadline::never()).expect("it fits");
    assert!(fitted.text.chars().count() <= max_chars);
    fitted
}

#[track_caller]
fn check(text: &str, max_chars: usize, expected: Expect) {
    expected.assert_eq(&digest(text, max_chars, None).text);
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (1..=count).map(|n| line(n) + "\n").collect()
}

fn log(count: usize) -> String {
    numbered(count, |n| {
        let time = format!(
            "2026-11-16T10:{:02}:{:02}.{:03}Z",
            n / 60 % 60,
            n % 60,
            n * 37 % 1000
        );
        let user = ["alice", "bob", "carol"][n % 3];
        let took = if n == 801 { 98_123 } else { 12 + n * 5 % 49 };
        let status = if n == 1_203 { 503 } else { 200 };
        match n % 2 {
            _ if n == 400 => format!("{time} FATAL disk full on node 7, writes stopped"),
            _ if n == 640 => format!("{time} INFO configuration reloaded from /etc/app.conf"),
            0 => format!(
                "{time} DEBUG user {user} opened /items/{} session={:08x}",
                n * 7 % 900,
                n * 7_919
            ),
            _ => format!("{time} INFO web: request {n} took {took} ms status={status}"),
        }
    })
}

#[test]
fn log_digest_shows_templates_and_rare_lines() {
    check(
        &log(2_000),
        1_800,
        expect![[r#"
            ⟦narrows: digest, 18 of 2000 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦1000× {time} INFO web: request {1..1999} took {12..60, at most 98123} ms status={200, at most 503}⟧
            ⟦998× {time} DEBUG user {carol|alice|bob} opened /{id} session={id}⟧
            ⟦2 lines in 2 more templates, first at lines 400, 640⟧
            2026-11-16T10:00:01.037Z INFO web: request 1 took 17 ms status=200
            2026-11-16T10:00:02.074Z DEBUG user carol opened /items/14 session=00003dde
            2026-11-16T10:00:03.111Z INFO web: request 3 took 27 ms status=200
            2026-11-16T10:00:04.148Z DEBUG user bob opened /items/28 session=00007bbc
            2026-11-16T10:00:05.185Z INFO web: request 5 took 37 ms status=200
            2026-11-16T10:00:06.222Z DEBUG user alice opened /items/42 session=0000b99a
            2026-11-16T10:00:07.259Z INFO web: request 7 took 47 ms status=200
            ⟦cut 8-399⟧
            2026-11-16T10:06:40.800Z FATAL disk full on node 7, writes stopped
            ⟦cut 401-639⟧
            2026-11-16T10:10:40.680Z INFO configuration reloaded from /etc/app.conf
            ⟦cut 641-800⟧
            2026-11-16T10:13:21.637Z INFO web: request 801 took 98123 ms status=200
            ⟦cut 802-1202⟧
            2026-11-16T10:20:03.511Z INFO web: request 1203 took 49 ms status=503
            ⟦cut 1204-1993⟧
            2026-11-16T10:33:14.778Z DEBUG user carol opened /items/458 session=00f0f196
            2026-11-16T10:33:15.815Z INFO web: request 1995 took 40 ms status=200
            2026-11-16T10:33:16.852Z DEBUG user bob opened /items/472 session=00f12f74
            2026-11-16T10:33:17.889Z INFO web: request 1997 took 50 ms status=200
            2026-11-16T10:33:18.926Z DEBUG user alice opened /items/486 session=00f16d52
            2026-11-16T10:33:19.963Z INFO web: request 1999 took 60 ms status=200
            2026-11-16T10:33:20.000Z DEBUG user carol opened /items/500 session=00f1ab30
        "#]],
    );
}

#[test]
fn rare_lines_that_do_not_fit_are_indexed() {
    let word = |mut seed: usize| {
        let letter = |_| {
            seed = seed * 7 + 3;
            char::from(b'a' + (seed % 23) as u8)
        };
        (0..5).map(letter).collect::<String>()
    };
    let text = numbered(3_000, |n| match n % 50 {
        0 => format!(
            "WARN {} {} {} at the gate",
            word(n),
            word(n + 1),
            word(3 * n)
        ),
        _ => format!("INFO request {n} took {} ms", 10 + n * 7 % 40),
    });
    check(
        &text,
        1_200,
        expect![[r#"
            ⟦narrows: digest, 14 of 3000 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦2940× INFO request {1..2999} took {10..49} ms⟧
            ⟦60× WARN {incrh|ncrhg|sojuf|…} {pqadb|ufpqa|crhgw|…} {sojuf|keinc|crhgw|…} at the gate⟧
            ⟦rare lines not shown: 650, 700, 750, 800, 850, 900, 950, 1000, 1050, 1100, 1150, 1200, 1250, 1300, 1350, 1400, 1450, 1500, 1550, 1600, 1650, 1700, 1750, 1800, 1850, 1900, 1950, 2000, 2050, 2100, 2150, 2200, 2700, +14 more⟧
            INFO request 1 took 17 ms
            ⟦cut 2-49⟧
            WARN incrh pqadb sojuf at the gate
            ⟦cut 51-99⟧
            WARN ncrhg ufpqa keinc at the gate
            ⟦cut 101-149⟧
            WARN sojuf crhgw crhgw at the gate
            ⟦cut 151-199⟧
            WARN adbke hgwtv rhgwt at the gate
            ⟦cut 201-249⟧
            WARN fpqad msoju jufpq at the gate
            ⟦cut 251-299⟧
            WARN keinc rhgwt bkein at the gate
            ⟦cut 301-349⟧
            WARN pqadb wtvms qadbk at the gate
            ⟦cut 351-399⟧
            WARN ufpqa eincr incrh at the gate
            ⟦cut 401-449⟧
            WARN crhgw jufpq adbke at the gate
            ⟦cut 451-499⟧
            WARN hgwtv ojufp pqadb at the gate
            ⟦cut 501-549⟧
            WARN msoju tvmso hgwtv at the gate
            ⟦cut 551-599⟧
            WARN rhgwt bkein wtvms at the gate
            ⟦cut 601-2999⟧
            WARN eincr lllll gwtvm at the gate
        "#]],
    );
}

#[test]
fn code_digest_shows_dissimilar_blocks() {
    let text = numbered(80, |n| {
        match n {
        33 => "def audit(trail):\n    for entry in trail:\n        entry.sign(KEY)\n    return len(trail)\n".to_owned(),
        57 => "def handle_57(request):\n    user = request.user\n    if not user.allowed(\"57\"):\n        raise Forbidden(57)\n    return db.fetch(\"57\", limit=9000)\n".to_owned(),
        n => format!("def handle_{n}(request):\n    user = request.user\n    if not user.allowed(\"{n}\"):\n        raise Forbidden({n})\n    return db.fetch(\"{n}\", limit={})\n", 10 + n % 3),
    }
    });
    check(
        &format!("\"\"\"Handlers.\"\"\"\nimport db\n\n{text}"),
        1_600,
        expect![[r#"
            ⟦narrows: digest, 20 of 482 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦79× def {id}(request) … 5 lines, the first at 4-8⟧
            """Handlers."""
            import db

            def handle_1(request):
                user = request.user
                if not user.allowed("1"):
                    raise Forbidden(1)
                return db.fetch("1", limit=11)
            ⟦cut 9-195⟧
            def audit(trail):
                for entry in trail:
                    entry.sign(KEY)
                return len(trail)
            ⟦cut 200-338⟧
            def handle_57(request):
                user = request.user
                if not user.allowed("57"):
                    raise Forbidden(57)
                return db.fetch("57", limit=9000)
            ⟦cut 344-479⟧
                    raise Forbidden(80)
                return db.fetch("80", limit=12)

        "#]],
    );
}

fn row(n: usize) -> String {
    let status = match n {
        217 => "quarantined",
        n => ["active", "paused"][n % 2],
    };
    let total = if n == 140 { 98_123 } else { n * 7 % 90 };
    let extra = if n == 60 { ",\"flag\":true" } else { "" };
    format!(
        "{{\"id\":{n},\"status\":\"{status}\",\"total\":{total},\"owner\":{{\"name\":\"u{}\"}}{extra}}}",
        n % 5
    )
}

#[test]
fn json_lines_digest_shows_fields_and_rare_rows() {
    check(
        &numbered(300, row),
        1_200,
        expect![[r#"
            ⟦narrows: digest, 13 of 300 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦300 rows; id 1..300; status active 150, paused 149, quarantined 1; total 0..98123; owner.name u1 60, u2 60, u3 60, u4 60, 1 more; 1 other field in few rows⟧
            {"id":1,"status":"paused","total":7,"owner":{"name":"u1"}}
            {"id":2,"status":"active","total":14,"owner":{"name":"u2"}}
            {"id":3,"status":"paused","total":21,"owner":{"name":"u3"}}
            {"id":4,"status":"active","total":28,"owner":{"name":"u4"}}
            {"id":5,"status":"paused","total":35,"owner":{"name":"u0"}}
            ⟦cut 6-59⟧
            {"id":60,"status":"active","total":60,"owner":{"name":"u0"},"flag":true}
            ⟦cut 61-139⟧
            {"id":140,"status":"active","total":98123,"owner":{"name":"u0"}}
            ⟦cut 141-216⟧
            {"id":217,"status":"quarantined","total":79,"owner":{"name":"u2"}}
            ⟦cut 218-295⟧
            {"id":296,"status":"active","total":2,"owner":{"name":"u1"}}
            {"id":297,"status":"paused","total":9,"owner":{"name":"u2"}}
            {"id":298,"status":"active","total":16,"owner":{"name":"u3"}}
            {"id":299,"status":"paused","total":23,"owner":{"name":"u4"}}
            {"id":300,"status":"active","total":30,"owner":{"name":"u0"}}
        "#]],
    );
}

#[test]
fn single_line_json_array_shows_fields_and_rare_rows() {
    let rows: Vec<String> = (1..=300).map(row).collect();
    check(
        &format!("{{\"page\":1,\"items\":[{}]}}", rows.join(",")),
        1_200,
        expect![[r#"
            ⟦narrows: digest, 12 of 300 rows shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦300 rows of $.items; id 1..300; status active 150, paused 149, quarantined 1; total 0..98123; owner.name u1 60, u2 60, u3 60, u4 60, 1 more; 1 other field in few rows⟧
            {"page":1,"items":[{"id":1,"status":"paused","total":7,"owner":{"name":"u1"}},{"id":2,"status":"active","total":14,"owner":{"name":"u2"}},{"id":3,"status":"paused","total":21,"owner":{"name":"u3"}},{"id":4,"status":"active","total":28,"owner":{"name":"u4"}},{"id":5,"status":"paused","total":35,"owner":{"name":"u0"}},{"id":6,"status":"active","total":42,"owner":{"name":"u1"}},{"id":7,"status":"paused","total":49,"owner":{"name":"u2"}},"⟦cut rows 8-59⟧",{"id":60,"status":"active","total":60,"owner":{"name":"u0"},"flag":true},"⟦cut rows 61-139⟧",{"id":140,"status":"active","total":98123,"owner":{"name":"u0"}},"⟦cut rows 141-216⟧",{"id":217,"status":"quarantined","total":79,"owner":{"name":"u2"}},"⟦cut rows 218-298⟧",{"id":299,"status":"paused","total":23,"owner":{"name":"u4"}},{"id":300,"status":"active","total":30,"owner":{"name":"u0"}}]}"#]],
    );
}

#[test]
fn table_digest_keeps_markers_and_the_row_count() {
    let rows: Vec<String> = (1..=300)
        .map(|n| {
            let status = if n == 217 { "quarantined" } else { "active" };
            format!(
                "{{\"id\":{n},\"status\":\"{status}\",\"total\":{}}}",
                n * 7 % 90
            )
        })
        .collect();
    check(
        &format!("[{}]", rows.join(",")),
        800,
        expect![[r#"
            ⟦narrows: digest, 34 of 300 rows shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦300 rows; id 1..300; status active 299, quarantined 1; total 0..89⟧
            [300]{id,status,total}:
              1,active,7
              2,active,14
              3,active,21
              4,active,28
              5,active,35
              6,active,42
              7,active,49
              8,active,56
              9,active,63
              10,active,70
              11,active,77
              12,active,84
              13,active,1
              14,active,8
              15,active,15
              16,active,22
              17,active,29
              18,active,36
              19,active,43
              20,active,50
              21,active,57
              22,active,64
              23,active,71
              24,active,78
              25,active,85
              26,active,2
              27,active,9
              28,active,16
              29,active,23
              30,active,30
              ⟦cut rows 31-216⟧
              217,quarantined,79
              ⟦cut rows 218-297⟧
              298,active,16
              299,active,23
              300,active,30"#]],
    );
}

#[test]
fn document_digest_shows_headings_and_rare_paragraphs() {
    let text = numbered(120, |n| match n {
        n if n % 30 == 1 => format!("## Week {}\n", n / 30 + 1),
        77 => "The kraken rose beneath the keel; Lieutenant Okafor cut the anchor.\n".to_owned(),
        n => format!(
            "On day {n} the crew sailed {} miles and saw {} birds.\n",
            n * 7 % 50,
            n * 13 % 90
        ),
    });
    check(
        &format!("# Record\n\n{text}"),
        1_000,
        expect![[r#"
            ⟦narrows: digest, 33 of 242 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            # Record

            ## Week 1

            On day 2 the crew sailed 14 miles and saw 26 birds.

            On day 3 the crew sailed 21 miles and saw 39 birds.

            On day 4 the crew sailed 28 miles and saw 52 birds.

            On day 5 the crew sailed 35 miles and saw 65 birds.

            On day 6 the crew sailed 42 miles and saw 78 birds.

            On day 7 the crew sailed 49 miles and saw 1 birds.

            ⟦cut 17-62⟧
            ## Week 2
            ⟦cut 64-122⟧
            ## Week 3
            ⟦cut 124-154⟧
            The kraken rose beneath the keel; Lieutenant Okafor cut the anchor.
            ⟦cut 156-182⟧
            ## Week 4
            ⟦cut 184-229⟧

            On day 115 the crew sailed 5 miles and saw 55 birds.

            On day 116 the crew sailed 12 miles and saw 68 birds.

            On day 117 the crew sailed 19 miles and saw 81 birds.

            On day 118 the crew sailed 26 miles and saw 4 birds.

            On day 119 the crew sailed 33 miles and saw 17 birds.

            On day 120 the crew sailed 40 miles and saw 30 birds.

        "#]],
    );
}

#[test]
fn lines_share_a_template_if_most_words_match() {
    let text = "a b c 1\na b d 2\nx y z 3\na b c 4\n\nq\n";
    let lines = Lines::new(text);
    let templates = Templates::mine(&lines, &Deadline::never()).expect("there is no limit");
    assert_eq!(templates.lines, 5);
    let shown: Vec<String> = templates
        .all
        .iter()
        .map(|template| format!("{}× {}", template.count, template.pattern(&lines)))
        .collect();
    assert_eq!(shown, ["3× a b {c|d} {1..4}", "1× x y z 3", "1× q"]);
}

#[test]
fn small_gaps_are_kept_while_the_budget_allows() {
    let text = numbered(4_000, |n| match n {
        1_000 | 1_004 | 1_012 => format!("ERROR {} broke", ["valve", "pump", "seal"][n % 3]),
        _ => format!("INFO request {n} took {} ms", 10 + n * 7 % 40),
    });
    let fitted = digest(&text, 8_000, Some(SourceType::Logs));
    assert_eq!(fitted.stages, [Stage::Digest]);
    let is_short = |cut: &crate::budget::CutRange| match cut {
        crate::budget::CutRange::Lines { first, last } => last - first < 9,
        crate::budget::CutRange::Chars { .. } => false,
    };
    assert!(!fitted.cuts.iter().any(is_short), "{:?}", fitted.cuts);
}

/// Returns functions that differ in their names, one of which omits a step.
fn routes() -> String {
    let verbs = ["cleaned", "moved", "loaded", "opened", "sealed"];
    let body = numbered(900, |n| {
        let check = if n == 550 { "" } else { "\tcheck(r)\n" };
        format!(
            "func {}_{n}(w Writer, r Request) {{\n{check}\tsave(r.Body)\n\tw.Status(204)\n}}\n",
            verbs[n * 7 % 5]
        )
    });
    format!("package routes\n\n{body}")
}

#[test]
fn function_with_a_missing_step_is_shown() {
    check(
        &routes(),
        16_000,
        expect![[r#"
        ⟦narrows: digest, 14 of 5401 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
        ⟦899× func {id}(w Writer, r Request) … 5 lines, the first at 3-7⟧
        package routes

        func loaded_1(w Writer, r Request) {
        	check(r)
        	save(r.Body)
        	w.Status(204)
        }
        ⟦cut 8-3296⟧
        func cleaned_550(w Writer, r Request) {
        	save(r.Body)
        	w.Status(204)
        }
        ⟦cut 3301-5398⟧
        	w.Status(204)
        }

    "#]],
    );
}

#[test]
fn goal_matching_all_copies_equally_is_ignored() {
    let text = routes();
    let plain = digest(&text, 16_000, None);
    let order = |goal| Order {
        max_chars: 16_000,
        goal: Some(goal),
        source: None,
        recovery: RecoveryCall {
            tool: "recover_text",
            receipt: "prn_1",
            form: RecoveryForm::Direct,
        },
    };
    let with = |goal| fit(&text, &order(goal), &Lexical, &Deadline::never()).expect("it fits");
    for goal in [
        "the one function that leaves out a step all the others take",
        "All functions of src/routes.go are built alike, but one leaves out a step that the others take. Name that function.",
        "request writer status",
    ] {
        assert_eq!(with(goal).text, plain.text, "{goal}");
    }
    // A word that occurs in some of the names does distinguish them.
    assert_eq!(with("sealed").stages, [Stage::Pruned]);
    assert!(with("sealed_777").text.contains("func sealed_"));
}

#[test]
fn id_without_digits_matches_the_same_template() {
    let text = numbered(400, |n| match n {
        100 => "bus: frame dfedfe acknowledged".to_owned(),
        200 => "bus: frame broken acknowledged".to_owned(),
        n => format!("bus: frame {:06x} acknowledged", n * 41_077 % 0xff_ffff),
    });
    let lines = Lines::new(&text);
    let templates = Templates::mine(&lines, &Deadline::never()).expect("there is no limit");
    let counts: Vec<u32> = templates
        .all
        .iter()
        .map(|template| template.count)
        .collect();
    assert_eq!(counts, [399, 1]);
    assert_eq!(templates.all[1].first, 199);
}

#[test]
fn log_digest_notes_cover_all_lines() {
    let kinds = ["alpha beta", "gamma delta", "sigma tau", "kappa rho"];
    let text = numbered(4_000, |n| match n % 400 {
        0 => String::new(),
        7 => format!("{} {}", "word ".repeat(2 + n / 400), n),
        _ => format!("{} {n}", kinds[n % 4].repeat(1 + n % 9)),
    });
    for max_chars in [1_000, 2_000, 8_000] {
        let shown = digest(&text, max_chars, Some(SourceType::Logs)).text;
        let notes = shown
            .lines()
            .skip(1)
            .map_while(|line| line.strip_prefix('⟦'));
        let leading = |text: &str| {
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().unwrap_or(0)
        };
        let mut sum = 0;
        for note in notes.take_while(|note| !note.starts_with("cut")) {
            sum += leading(note);
            if let Some((_, blank)) = note.split_once("; ") {
                sum += leading(blank);
            }
        }
        // After the last LF, there is one more line without a word.
        assert_eq!(sum, Lines::count(&text), "{max_chars}: {shown}");
    }
}
