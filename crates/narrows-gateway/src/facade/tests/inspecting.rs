//! Tests of `inspect`.

use expect_test::{Expect, expect};
use narrows_wire::token;
use proptest::prelude::*;

use super::*;
use crate::settings::Encoding;

#[track_caller]
fn check(arguments: &str, expected: Expect) {
    check_in(&lazy(tools_by_server()), arguments, expected);
}

#[track_caller]
fn check_in(facade: &Facade, arguments: &str, expected: Expect) {
    expected.assert_eq(&result_text(&facade.inspect(Some(&raw(arguments)))));
}

#[test]
fn inspect_describes_a_whole_server_or_one_tool() {
    check(
        r#"{"server_name":"io.files/x"}"#,
        expect![[r#"
        [2]{server_name,name,description,input_schema}:
          io.files/x,read_file,"Read the complete\tcontents of a file.\nSecond line.","{path: string /* File path */; lines?: number}"
          io.files/x,stat,"","{}"
        == {"result":[{"server_name":"io.files/x","name":"read_file","description":"Read the complete\tcontents of a file.\nSecond line.","input_schema":"{path: string /* File path */; lines?: number}"},{"server_name":"io.files/x","name":"stat","description":"","input_schema":"{}"}]}"#]],
    );
    check(
        r#"{"server_name":"io_files_x","tool_name":"io.files/x__stat","cursor":null}"#,
        expect![[r#"
            server_name: io.files/x
            name: stat
            description: ""
            input_schema: "{}"
            == {"result":{"server_name":"io.files/x","name":"stat","description":"","input_schema":"{}"}}"#]],
    );
    check(
        r#"{"server_name":"clock","tool_name":"","cursor":""}"#,
        expect![[r#"
            [1]{server_name,name,description,input_schema}:
              clock,now,The time,"{zone?: \"utc\" | \"local\"}"
            == {"result":[{"server_name":"clock","name":"now","description":"The time","input_schema":"{zone?: \"utc\" | \"local\"}"}]}"#]],
    );
    check(
        r#"{"server_name":"empty"}"#,
        expect![[r#"
            []
            --
            Instructions of empty:
            Nothing here
            == {"result":[]}"#]],
    );
}

#[test]
fn settings_select_schema_and_text_encoding() {
    let set = |settings: &mut FacadeSettings| {
        settings.typescript = false;
        settings.encoding = Encoding::Json;
    };
    check_in(
        &facade(FacadeMode::Lazy, set, tools_by_server(), 80_000),
        r#"{"server_name":"clock"}"#,
        expect![[r#"
            [{"server_name":"clock","name":"now","description":"The time","input_schema":{"type":"object","properties":{"zone":{"enum":["utc","local"]}}}}]
            == {"result":[{"server_name":"clock","name":"now","description":"The time","input_schema":{"type":"object","properties":{"zone":{"enum":["utc","local"]}}}}]}"#]],
    );
    let set = |settings: &mut FacadeSettings| settings.max_description_len = 7;
    check_in(
        &facade(FacadeMode::Lazy, set, tools_by_server(), 80_000),
        r#"{"server_name":"io.files/x","tool_name":"read_file"}"#,
        expect![[r#"
            server_name: io.files/x
            name: read_file
            description: "Read the complete\tcontents of a file.\nSecond line."
            input_schema: "{path: string /* File... */; lines?: number}"
            == {"result":{"server_name":"io.files/x","name":"read_file","description":"Read the complete\tcontents of a file.\nSecond line.","input_schema":"{path: string /* File... */; lines?: number}"}}"#]],
    );
}

#[test]
fn unknown_names_are_answered_with_available_ones() {
    check(
        r#"{"server_name":"zz"}"#,
        expect![[
            r#"error: {"error":"Server 'zz' not found","available_servers":["clock","io.files/x"]}"#
        ]],
    );
    check(
        r#"{"server_name":"io.files/x","tool_name":"raed_file"}"#,
        expect![[
            r#"error: {"error":"Tool 'raed_file' not found on server 'io.files/x'. Did you mean read_file?","available_tools":["read_file","stat"],"nearest":["read_file"]}"#
        ]],
    );
    check(
        r#"{"server_name":"empty","tool_name":"x"}"#,
        expect![[
            r#"error: {"error":"Tool 'x' not found on server 'empty'","available_tools":[],"nearest":[]}"#
        ]],
    );
    let long = "z".repeat(300);
    let answer =
        lazy(tools_by_server()).inspect(Some(&raw(&format!(r#"{{"server_name":"{long}"}}"#))));
    assert!(result_text(&answer).contains(&format!("Server '{}…' not found", "z".repeat(200))));
}

#[test]
fn invalid_arguments_are_answered_with_the_reason() {
    for arguments in [
        "{}",
        "null",
        r#"{"server_name":null}"#,
        r#"{"server_name":7}"#,
    ] {
        check(
            arguments,
            expect![[
                r#"error: {"error":"inspect needs 'server_name' as a string","available_servers":["clock","io.files/x"]}"#
            ]],
        );
    }
    assert_eq!(
        result_text(&lazy(tools_by_server()).inspect(None)),
        result_text(&lazy(tools_by_server()).inspect(Some(&raw("{}"))))
    );
    check(
        "[]",
        expect![[r#"error: {"error":"The arguments of 'inspect' must be an object"}"#]],
    );
    check(
        r#"{"server":"clock"}"#,
        expect![[
            r#"error: {"error":"Unknown argument 'server': 'inspect' takes server_name, tool_name, cursor"}"#
        ]],
    );
    check(
        r#"{"server_name":"clock","server_name":"secret"}"#,
        expect![[r#"error: {"error":"Argument 'server_name' is given twice"}"#]],
    );
    check(
        r#"{"server_name":"clock","tool_name":["now"]}"#,
        expect![[r#"error: {"error":"inspect needs 'tool_name' as a string"}"#]],
    );
    for cursor in ["?", "eyJvZmZzZXQiOiAxfQ=="] {
        check(
            &format!(r#"{{"server_name":"clock","cursor":"{cursor}"}}"#),
            expect![[
                r#"error: {"error":"The cursor does not belong to this server. Call inspect without a cursor"}"#
            ]],
        );
    }
}

#[test]
fn name_lists_in_errors_are_bounded() {
    let tools: Vec<String> = (0..300)
        .map(|at| format!(r#"{{"name":"tool_{at:03}"}}"#))
        .collect();
    let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
    let mut tools_by_server: Vec<ServerTools> = (0..150)
        .map(|at| server_tools(&format!("s{at:03}"), "", &tools[..1]))
        .collect();
    tools_by_server.push(server_tools("big", "", &tools));
    let facade = lazy(tools_by_server);
    let error = |arguments: &str| {
        let result = facade.inspect(Some(&raw(arguments))).expect("a result");
        raw(&texts(&result)[0])
    };
    let servers = error(r#"{"server_name":"zz"}"#);
    let count = |error: &Raw, name: &str| error.member(name).expect(name).elements().count();
    assert_eq!(count(&servers, "available_servers"), 100);
    assert_eq!(
        servers
            .member("more_servers")
            .and_then(|more| more.as_u64()),
        Some(51)
    );
    let tools = error(r#"{"server_name":"big","tool_name":"tool_2999"}"#);
    assert_eq!(count(&tools, "available_tools"), 200);
    assert_eq!(
        tools.member("more_tools").and_then(|more| more.as_u64()),
        Some(100)
    );
    let first = tools
        .member("available_tools")
        .and_then(|all| all.elements().next());
    assert_eq!(first, Some(raw(r#""tool_299""#)));
    assert_eq!(count(&tools, "nearest"), 3);
}

#[test]
fn hidden_tool_is_refused_by_name() {
    for (arguments, refused) in [
        (
            r#"{"server_name":"io.files/x","tool_name":"delete_file"}"#,
            "Tool 'io.files/x__delete_file'",
        ),
        (
            r#"{"server_name":"io.files/x","tool_name":"io.files/x__delete_file"}"#,
            "Tool 'io.files/x__delete_file'",
        ),
        (r#"{"server_name":"secret"}"#, "Server 'secret'"),
        (
            r#"{"server_name":"secret","tool_name":"close"}"#,
            "Tool 'secret__close'",
        ),
        (
            r#"{"server_name":"secret","tool_name":"other"}"#,
            "Server 'secret'",
        ),
    ] {
        let answer = lazy(tools_by_server()).inspect(Some(&raw(arguments)));
        assert_eq!(
            result_text(&answer),
            format!("refused: {refused} is not allowed by current preset")
        );
    }
}

/// A server that the preset denies reveals nothing, even if it has no tools to hide. A server with
/// other permitted items does.
#[test]
fn server_without_allowed_items_is_refused() {
    for mode in [FacadeMode::Lazy, FacadeMode::Search] {
        let mut tools_by_server = tools_by_server();
        let mut closed = server_tools("closed", "Secret instructions", &[]);
        closed.denied = Some(denial(DenialReason::ServerNotNamed));
        tools_by_server.push(closed);
        let facade = facade(mode, |_| {}, tools_by_server, 80_000);
        for arguments in [
            r#"{"server_name":"closed"}"#,
            r#"{"server_name":"closed","tool_name":"x"}"#,
        ] {
            check_in(
                &facade,
                arguments,
                expect!["refused: Server 'closed' is not allowed by current preset"],
            );
        }
        let answer = result_text(&facade.inspect(Some(&raw(r#"{"server_name":"empty"}"#))));
        assert!(answer.contains("Nothing here"), "{answer}");
    }
}

#[test]
fn recover_tool_is_described_when_results_are_cut() {
    let ours = r#"{"server_name":"narrows"}"#;
    let answer = result_text(&lazy(tools_by_server()).inspect(Some(&raw(ours))));
    assert!(answer.contains("narrows,recover_text,"), "{answer}");
    let one = r#"{"server_name":"narrows","tool_name":"recover_text"}"#;
    let answer = result_text(&lazy(tools_by_server()).inspect(Some(&raw(one))));
    assert!(answer.contains("prune_id: string"), "{answer}");
    check(
        r#"{"server_name":"narrows","tool_name":"other"}"#,
        expect![[
            r#"error: {"error":"Tool 'other' not found on server 'narrows'","available_tools":["recover_text"],"nearest":[]}"#
        ]],
    );

    let whole = Facade::new(
        FacadeMode::Lazy,
        FacadeSettings::default(),
        tools_by_server(),
        Vec::new(),
        &within(80_000),
        false,
    );
    let answer = result_text(&whole.inspect(Some(&raw(ours))));
    assert!(answer.contains("Server 'narrows' not found"), "{answer}");
    let taken = lazy(vec![server_tools("narrows", "", &[r#"{"name":"own"}"#])]);
    let answer = result_text(&taken.inspect(Some(&raw(ours))));
    assert!(
        answer.contains("own") && !answer.contains("recover_text"),
        "{answer}"
    );
}

#[test]
fn truncated_instructions_are_included_in_full() {
    let long = format!("Begin.\n{}", "word ".repeat(400));
    let tools = [r#"{"name":"t"}"#];
    let inspect = |expose, instructions: &str, max_chars| {
        let facade = facade(
            expose,
            |_| {},
            vec![server_tools("a", instructions, &tools)],
            max_chars,
        );
        let result = facade.inspect(Some(&raw(r#"{"server_name":"a"}"#)));
        texts(&result.expect("a result"))
    };
    let whole = format!("Instructions of a:\n{}", long.trim());
    assert_eq!(inspect(FacadeMode::Lazy, &long, 80_000)[1..], [whole]);
    let short = "Short ones.".to_owned();
    assert!(inspect(FacadeMode::Lazy, &short, 80_000)[1..].is_empty());
    assert_eq!(
        inspect(FacadeMode::Search, &short, 80_000)[1..],
        [format!("Instructions of a:\n{short}")]
    );
    // Instructions that do not fit into the description are shown here.
    for listing_max_chars in [120, 400] {
        let set = |settings: &mut FacadeSettings| {
            settings.listing_max_chars = listing_max_chars;
        };
        let words = "Few words that have no room. ".repeat(7);
        let facade = facade(
            FacadeMode::Lazy,
            set,
            vec![server_tools("a", &words, &tools)],
            80_000,
        );
        let result = facade.inspect(Some(&raw(r#"{"server_name":"a"}"#)));
        let reported = texts(&result.expect("a result"))[1..].concat();
        let expected = match listing_max_chars {
            120 => format!("Instructions of a:\n{}", words.trim()),
            _ => String::new(),
        };
        assert_eq!(reported, expected, "{listing_max_chars}");
    }
    let cut = inspect(FacadeMode::Lazy, &long, 1_000);
    assert!(cut[1].ends_with("..."), "{cut:?}");
    assert_eq!(cut.concat().chars().count(), 1_000);
}

/// Returns `count` tools of different sizes, some of them too large for any page.
fn sized(count: usize, size: usize) -> Vec<String> {
    let tool = |at: usize| {
        let words = "Wörter, \"quoted\": yes\n".repeat(1 + at * 7 % (size + 1));
        let property = Raw::string(&words);
        format!(
            r#"{{"name":"tool_{at}","description":{0},"inputSchema":{{"type":"object","properties":{{"p{at}":{{"type":"string","description":{0}}}}}}}}}"#,
            property.as_str()
        )
    };
    (0..count).map(tool).collect()
}

#[test]
fn long_list_is_paginated() {
    let tools = sized(9, 3);
    let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
    let facade = facade(
        FacadeMode::Lazy,
        |_| {},
        vec![server_tools("a", "", &tools)],
        1_000,
    );
    check_in(
        &facade,
        r#"{"server_name":"a"}"#,
        expect![[r#"
        [5]{server_name,name,description,input_schema}:
          a,tool_0,"Wörter, \"quoted\": yes\n","{p0?: string /* Wörter, \"quoted\": yes */}"
          a,tool_1,"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","{p1?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"
          a,tool_2,"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","{p2?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"
          a,tool_3,"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","{p3?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"
          a,tool_4,"Wörter, \"quoted\": yes\n","{p4?: string /* Wörter, \"quoted\": yes */}"
        --
        Tools 1-5 of 9. For the next: inspect(server_name: "a", cursor: "eyJvZmZzZXQiOiA1fQ==")
        == {"result":[{"server_name":"a","name":"tool_0","description":"Wörter, \"quoted\": yes\n","input_schema":"{p0?: string /* Wörter, \"quoted\": yes */}"},{"server_name":"a","name":"tool_1","description":"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","input_schema":"{p1?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"},{"server_name":"a","name":"tool_2","description":"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","input_schema":"{p2?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"},{"server_name":"a","name":"tool_3","description":"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","input_schema":"{p3?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"},{"server_name":"a","name":"tool_4","description":"Wörter, \"quoted\": yes\n","input_schema":"{p4?: string /* Wörter, \"quoted\": yes */}"}],"next_cursor":"eyJvZmZzZXQiOiA1fQ==","total":9}"#]],
    );
    check_in(
        &facade,
        &format!(r#"{{"server_name":"a","cursor":"{}"}}"#, token::cursor(6)),
        expect![[r#"
            [3]{server_name,name,description,input_schema}:
              a,tool_6,"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","{p6?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"
              a,tool_7,"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","{p7?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"
              a,tool_8,"Wörter, \"quoted\": yes\n","{p8?: string /* Wörter, \"quoted\": yes */}"
            --
            Tools 7-9 of 9.
            == {"result":[{"server_name":"a","name":"tool_6","description":"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","input_schema":"{p6?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"},{"server_name":"a","name":"tool_7","description":"Wörter, \"quoted\": yes\nWörter, \"quoted\": yes\n","input_schema":"{p7?: string /* Wörter, \"quoted\": yes Wörter, \"quoted\": yes */}"},{"server_name":"a","name":"tool_8","description":"Wörter, \"quoted\": yes\n","input_schema":"{p8?: string /* Wörter, \"quoted\": yes */}"}],"total":9}"#]],
    );
}

/// Lists of `toon_min_size` entries or more can use a shorter encoding.
#[test]
fn page_size_depends_on_the_encoding() {
    let long = "a".repeat(30);
    let tools: Vec<String> = (0..40)
        .map(|at| format!(r#"{{"name":"{long}{at}","inputSchema":{{}}}}"#))
        .collect();
    let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
    let reported = |toon_min_size: usize| {
        let set = |settings: &mut FacadeSettings| settings.toon_min_size = toon_min_size;
        let facade = facade(
            FacadeMode::Lazy,
            set,
            vec![server_tools("a", "", &tools)],
            1_500,
        );
        let result = facade.inspect(Some(&raw(r#"{"server_name":"a"}"#)));
        let result = result.expect("a result");
        assert!(texts(&result).concat().chars().count() <= 1_500);
        let structured = result.member("structuredContent").expect("a member");
        structured
            .member("result")
            .expect("a member")
            .elements()
            .count()
    };
    let (by_toon, by_json) = (reported(1), reported(100));
    assert!(by_json + 2 < by_toon, "{by_json} {by_toon}");
    assert_eq!(reported(by_toon), by_toon);
    assert_eq!(reported(by_toon + 1), by_json);
}

#[test]
fn oversized_tool_is_described_in_less_detail() {
    let words = |count| "A long description. ".repeat(count);
    let schema = |count: usize, text: &str| {
        let properties: Vec<String> = (0..count)
            .map(|at| format!(r#""property_{at}":{{"type":"string","description":"{text}"}}"#))
            .collect();
        format!(
            r#"{{"type":"object","properties":{{{}}}}}"#,
            properties.join(",")
        )
    };
    let reported = |max_chars, description: &str, schema: &str| {
        let tool =
            format!(r#"{{"name":"t","description":"{description}","inputSchema":{schema}}}"#);
        let facade = facade(
            FacadeMode::Lazy,
            |_| {},
            vec![server_tools("a", "", &[&tool])],
            max_chars,
        );
        let one = facade.inspect(Some(&raw(r#"{"server_name":"a","tool_name":"t"}"#)));
        let one = one.expect("a result");
        assert!(texts(&one)[0].chars().count() <= max_chars);
        let listed = facade.inspect(Some(&raw(r#"{"server_name":"a"}"#)));
        assert!(texts(&listed.expect("a result"))[0].chars().count() <= max_chars);
        let entry = one
            .member("structuredContent")
            .and_then(|data| data.member("result"));
        let entry = entry.expect("an entry");
        let text = |name: &str| {
            entry
                .member(name)
                .and_then(|text| text.as_text().map(String::from))
        };
        (
            text("description").expect("text"),
            text("input_schema").expect("text"),
        )
    };
    let small = schema(1, "x");
    let (description, kept) = reported(5_000, &words(1_000), &small);
    assert!(description.ends_with("... (20,000 characters)") && description.len() > 4_500);
    assert_eq!(kept, "{property_0?: string /* x */}");
    let (description, kept) = reported(1_000, &words(1_000), &small);
    assert!(description.ends_with("... (20,000 characters)") && description.len() > 500);
    assert_eq!(kept, "{property_0?: string /* x */}");
    let (_, cut) = reported(2_000, &words(50), &schema(10, &words(20)));
    assert!(
        cut.contains("property_9?: string /* A long") && cut.contains("... */"),
        "{cut}"
    );
    let (_, bare) = reported(2_000, &words(50), &schema(60, &words(20)));
    assert!(
        bare.contains("property_59?: string") && !bare.contains("/*"),
        "{bare}"
    );
    let (_, size) = reported(2_000, &words(50), &schema(1_000, "x"));
    assert_eq!(size, "unknown /* 50,922 characters of schema */");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_are_complete_and_within_the_limit(
        max_chars in 1_000_usize..6_000,
        count in 1_usize..40,
        size in 0_usize..60,
        encoding in 0_usize..3,
        typescript in any::<bool>(),
    ) {
        let tools = sized(count, size);
        let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
        let set = |settings: &mut FacadeSettings| {
            settings.encoding = [Encoding::Shorter, Encoding::Toon, Encoding::Json][encoding];
            settings.typescript = typescript;
        };
        let facade = facade(FacadeMode::Search, set, vec![server_tools("a", &"i".repeat(2_000), &tools)], max_chars);
        let mut arguments = raw(r#"{"server_name":"a"}"#);
        let mut names = Vec::new();
        loop {
            let page = facade.inspect(Some(&arguments)).expect("a page");
            let length: usize = texts(&page).iter().map(|text| text.chars().count()).sum();
            prop_assert!(length <= max_chars, "{} > {}", length, max_chars);
            let data = page.member("structuredContent").expect("data");
            let entries: Vec<Raw> = data.member("result").expect("a list").elements().collect();
            prop_assert!(!entries.is_empty());
            names.extend(entries.iter().filter_map(|entry| Some(entry.member("name")?.as_text()?.into_owned())));
            match data.member("next_cursor") {
                Some(cursor) => arguments = arguments.with_member("cursor", &cursor),
                None => break,
            }
        }
        let all: Vec<String> = (0..count).map(|at| format!("tool_{at}")).collect();
        prop_assert_eq!(names, all);
    }

    #[test]
    fn any_arguments_are_answered(
        name in r#"("server_name"|"tool_name"|"cursor"|"arguments"|"query"|"limit"|"x")"#,
        value in r#"(null|true|-1e400|"clock"|"now"|"narrows"|"recover_text"|\[\[\]\]|\{"a":\{\}\}|"\{\}"|"[a-z ]{0,9}")"#,
        other in r#"("server_name":"(clock|io.files/x|narrows|secret|zz)"|"query":"time")"#,
    ) {
        let facade = facade(FacadeMode::Search, |_| {}, tools_by_server(), 1_000);
        let Ok(arguments) = Raw::parse(format!("{{{other},{name}:{value}}}").into()) else {
            return Ok(());
        };
        for arguments in [arguments.clone(), raw("[1]"), arguments.with_member("tool_name", &raw("\"now\""))] {
            let arguments = Some(&arguments);
            let _ = (facade.inspect(arguments), facade.search(arguments));
            let _ = facade.exec(arguments);
        }
    }
}
