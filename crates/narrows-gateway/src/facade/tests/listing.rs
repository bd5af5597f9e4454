//! Tests of the descriptions that list the catalogue.

use expect_test::{Expect, expect};
use narrows_policy::preset::Pattern;
use proptest::prelude::*;

use super::*;

fn description(facade: &Facade, at: usize) -> String {
    let tools = facade.own_tools();
    let text = tools[at].member("description");
    text.and_then(|text| text.as_text().map(Into::into))
        .expect("our tools are described")
}

#[track_caller]
fn check(
    listing: ListingDetail,
    limit: usize,
    tools_by_server: Vec<ServerTools>,
    expected: Expect,
) {
    let set = |settings: &mut FacadeSettings| {
        settings.listing = listing;
        settings.listing_max_chars = limit;
    };
    let reported = description(&facade(FacadeMode::Lazy, set, tools_by_server, 80_000), 0);
    assert!(reported.chars().count() <= limit, "over the limit");
    expected.assert_eq(&reported);
}

/// Returns `count` servers with three tools each.
fn many(count: usize) -> Vec<ServerTools> {
    let text = "An introduction of about fifty characters, in words, twice. ".repeat(2);
    let tools = [
        r#"{"name":"first_one","description":"It does the first thing"}"#,
        r#"{"name":"second_one","description":"It does another thing"}"#,
        r#"{"name":"third_one","description":"It does the third thing"}"#,
    ];
    (0..count)
        .map(|at| server_tools(&format!("server{at:02}"), &text, &tools))
        .collect()
}

#[test]
fn a_lazy_endpoint_lists_two_tools() {
    let tools = lazy(tools_by_server()).own_tools();
    let tools: Vec<&str> = tools.iter().map(Raw::as_str).collect();
    expect![[r#"
        {"name":"inspect","description":"Inspect available MCP tools and their schemas.\n\nAvailable tools:\n  Server: clock\n    - now(zone?): The time\n  Server: io.files/x - File operations for reading and writing files\n    - read_file(path, lines?): Read the complete contents of a file.\n    - stat()\n  Server: narrows\n    - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result","inputSchema":{"type":"object","properties":{"server_name":{"type":"string"},"tool_name":{"type":"string","description":"Only this tool"},"cursor":{"type":"string","description":"From a previous answer, for its next page"}},"required":["server_name"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}
        {"name":"exec","description":"Call a tool of an MCP server. A wrong argument is answered with the tool's schema, so inspect only what is unclear. For files, logs and tables that may be long, say what you need: find (exact lines or rows) or goal. A cut result names a prune_id; look into it with exec(\"narrows\", \"recover_text\", {\"prune_id\": …, \"query\": …}). Both take query, context, count_only, limit, ranges, head, tail, diff_with (a prune_id); for JSON rows where, select, sort, group_by, aggregate, rows.","inputSchema":{"type":"object","properties":{"server_name":{"type":"string"},"tool_name":{"type":"string"},"arguments":{"type":"object","description":"The tool's own arguments"},"goal":{"type":"string","description":"What you look for; a long result is cut to the parts that answer it"},"find":{"type":["string","object"],"description":"Get only matching lines: words that must all occur, \"a phrase\" or /regex/; or an object: {\"query\":\"ERROR\",\"context\":3}, {\"tail\":100,\"query\":\"ERROR\",\"count_only\":true}, {\"where\":\"status >= 500\",\"aggregate\":\"count, sum(bytes)\"}, {\"where\":\"kind = 'x'\",\"sort\":\"-price\",\"limit\":1}"},"max_chars":{"type":"integer","minimum":1000,"maximum":200000,"description":"Budget of this result (default 16000)"}},"required":["server_name","tool_name"],"additionalProperties":false}}"#]]
    .assert_eq(&tools.join("\n"));
}

#[test]
fn own_tool_names_resolve_only_where_listed() {
    let lazy = lazy(tools_by_server());
    let search = facade(FacadeMode::Search, |_| {}, tools_by_server(), 80_000);
    assert_eq!(search.own_tools().len(), 3);
    for (name, in_lazy, in_search) in [
        ("inspect", Some(OwnTool::Inspect), Some(OwnTool::Inspect)),
        ("exec", Some(OwnTool::Exec), Some(OwnTool::Exec)),
        ("search_tools", None, Some(OwnTool::Search)),
        ("clock__now", None, None),
    ] {
        assert_eq!((lazy.own(name), search.own(name)), (in_lazy, in_search));
    }
    for (facade, named) in [
        (&lazy, "inspect(server_name"),
        (&search, "search_tools(query)"),
    ] {
        let instructions = facade.instructions();
        assert!(instructions.contains(named), "{instructions}");
        assert!(instructions.contains("recover_text"), "{instructions}");
        assert!(instructions.chars().count() <= 400, "{instructions}");
    }
}

#[test]
fn pinned_tools_are_listed_on_search_endpoints() {
    let pin = |settings: &mut FacadeSettings| {
        settings.pin = vec![Pattern::parse("io_files_x/read_*").expect("a pattern")];
    };
    let files = upstream("io.files/x", "io_files_x");
    let search = facade(FacadeMode::Search, pin, tools_by_server(), 80_000);
    assert!(search.is_pinned(&files, "read_file"));
    assert!(!search.is_pinned(&files, "stat"));
    assert!(
        !facade(FacadeMode::Lazy, pin, tools_by_server(), 80_000).is_pinned(&files, "read_file")
    );
}

#[test]
fn listing_supports_every_detail_level() {
    check(
        ListingDetail::Full,
        20_000,
        tools_by_server(),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: clock
                - now(zone?): The time
              Server: io.files/x - File operations for reading and writing files
                - read_file(path, lines?): Read the complete contents of a file. Second line.
                - stat()
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result"#]],
    );
    check(
        ListingDetail::Names,
        20_000,
        tools_by_server(),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: clock
                now
              Server: io.files/x - File operations for reading and writing files
                read_file, stat
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result"#]],
    );
    check(
        ListingDetail::Servers,
        20_000,
        tools_by_server(),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: clock (1 tool)
              Server: io.files/x (2 tools) - File operations for reading and writing files
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result"#]],
    );
    check(
        ListingDetail::Capped,
        20_000,
        Vec::new(),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              (none at the moment)"#]],
    );
}

#[test]
fn long_descriptions_are_cut_and_folded() {
    let exactly = "a".repeat(80);
    let longer = "é".repeat(81);
    let tools_by_server = || {
        vec![server_tools(
            "two\nlines",
            &format!("{} {}", "i".repeat(200), "j".repeat(100)),
            &[
                &format!(r#"{{"name":"fits","description":"{exactly}\nmore"}}"#),
                &format!(r#"{{"name":"over","description":"\n  {longer}"}}"#),
                r#"{"name":"a\nb","description":7}"#,
            ],
        )]
    };
    check(
        ListingDetail::Capped,
        20_000,
        tools_by_server(),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: two lines - iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii...
                - fits: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                - over: ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé...
                - a b
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result"#]],
    );
}

#[test]
fn listing_over_the_limit_reduces_detail() {
    let wordy = format!(
        r#"{{"name":"t","description":"First line.\n{}"}}"#,
        "More. ".repeat(200)
    );
    check(
        ListingDetail::Full,
        600,
        vec![server_tools("a", &"word ".repeat(100), &[&wordy])],
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: a - word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word...
                - t: First line.
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result
            (Descriptions shortened. inspect a tool to see the whole.)"#]],
    );
    check(
        ListingDetail::Full,
        600,
        many(2),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: server00 - An introduction of about fifty characters, in words, twice. An introduction of about fifty characters, in words, twice.
                first_one, second_one, third_one
              Server: server01 - An introduction of about fifty characters, in words, twice. An introduction of about fifty characters, in words, twice.
                first_one, second_one, third_one
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result
            (Shortened to names: 6 tools. inspect a server to see its tools.)"#]],
    );
    check(
        ListingDetail::Capped,
        500,
        many(2),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: server00 (3 tools) - An introduction of about fifty characters, in words, twice. An introduction of about fifty...
              Server: server01 (3 tools) - An introduction of about fifty characters, in words, twice. An introduction of about fifty...
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result
            (Shortened to servers: 6 tools. inspect a server to see its tools.)"#]],
    );
    check(
        ListingDetail::Capped,
        500,
        many(3),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: server00 (3 tools) - An introduction of about fifty...
              Server: server01 (3 tools) - An introduction of about fifty...
              Server: server02 (3 tools) - An introduction of about fifty...
              Server: narrows
                - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result
            (Shortened to servers: 9 tools. inspect a server to see its tools.)"#]],
    );
    check(
        ListingDetail::Capped,
        500,
        many(12),
        expect![[r#"
            Inspect available MCP tools and their schemas.

            Available tools:
              Server: server00 (3 tools)
              Server: server01 (3 tools)
              Server: server02 (3 tools)
              Server: server03 (3 tools)
              Server: server04 (3 tools)
              Server: server05 (3 tools)
              Server: server06 (3 tools)
              Server: server07 (3 tools)
              Server: server08 (3 tools)
              Server: server09 (3 tools)
              Server: server10 (3 tools)
              Server: server11 (3 tools)
              ... and 0 more servers"#]],
    );
    check(
        ListingDetail::Names,
        500,
        many(40),
        expect![[r#"
        Inspect available MCP tools and their schemas.

        Available tools:
          Server: server00 (3 tools)
          Server: server01 (3 tools)
          Server: server02 (3 tools)
          Server: server03 (3 tools)
          Server: server04 (3 tools)
          Server: server05 (3 tools)
          Server: server06 (3 tools)
          Server: server07 (3 tools)
          Server: server08 (3 tools)
          Server: server09 (3 tools)
          Server: server10 (3 tools)
          Server: server11 (3 tools)
          Server: server12 (3 tools)
          Server: server13 (3 tools)
          ... and 26 more servers"#]],
    );
}

#[test]
fn descriptions_are_shortened_before_they_are_dropped() {
    let description = "Reads the complete contents of a file and returns them as a text";
    let tools: Vec<String> = (0..60)
        .map(|at| format!(r#"{{"name":"tool_{at:02}","description":"{description}"}}"#))
        .collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    for limit in [2_500, 3_200, 4_200, 5_400] {
        let set = |settings: &mut FacadeSettings| settings.listing_max_chars = limit;
        let tools_by_server = vec![server_tools("files", "", &tools)];
        let reported =
            self::description(&facade(FacadeMode::Lazy, set, tools_by_server, 80_000), 0);
        let length = reported.chars().count();
        assert!(length <= limit, "{length} of {limit}");
        // Another word for each tool would not fit.
        assert!(length + 60 * 12 > limit, "{length} of {limit}");
        let lines: Vec<&str> = reported
            .lines()
            .filter(|line| line.contains("tool_"))
            .collect();
        assert_eq!(lines.len(), 60);
        for line in lines {
            let text = line.split_once(": ").expect("a description").1;
            let start = text.strip_suffix("...").unwrap_or(text);
            assert!(description.starts_with(start), "{line}");
            let rest = &description[start.len()..];
            assert!(rest.is_empty() || rest.starts_with(' '), "{line}");
        }
        let note = "(Descriptions shortened. inspect a tool to see the whole.)";
        assert_eq!(reported.ends_with(note), limit < 5_400, "{reported}");
    }
}

#[test]
fn search_endpoint_describes_searchable_topics() {
    let github = server_tools(
        "github",
        "Long instructions that say nothing of what this is for and go on and on, for ever.",
        &[
            r#"{"name":"list_issues"}"#,
            r#"{"name":"get_issue"}"#,
            r#"{"name":"createPullRequest"}"#,
            r#"{"name":"merge-pull-request"}"#,
            r#"{"name":"github.search_repositories"}"#,
            r#"{"name":"get_file_contents"}"#,
        ],
    );
    let mut mail = server_tools("mail", "", &[r#"{"name":"send"}"#]);
    mail.server_info = raw(
        r#"{"name":"mail","title":"Mail server","description":"Sends letters to people. Fast."}"#,
    );
    let time = server_tools(
        "time",
        "",
        &[r#"{"name":"now","description":"Tells the current time in any zone.\nMore."}"#],
    );
    let tools_by_server = || vec![server_tools("empty", "", &[])];
    let reported = |limit: usize, mut tools_by_server: Vec<ServerTools>, more: Vec<ServerTools>| {
        tools_by_server.extend(more);
        let set = |settings: &mut FacadeSettings| settings.listing_max_chars = limit;
        let reported = description(&facade(FacadeMode::Search, set, tools_by_server, 80_000), 0);
        assert!(reported.chars().count() <= limit / 2, "over the limit");
        reported
    };
    expect![[r#"
        Find tools of MCP servers by what they do. The best matches come with their schemas, ready to call with exec. Describe the task in a few words; different phrasings, one per line, find more.

        Servers (number of tools):
          github (6): issue, pull request, repository, file, content
          mail (1): Sends letters to people
          time (1): Tells the current time in any zone"#]].assert_eq(&reported(20_000, tools_by_server(), vec![github, mail, time]));
    expect![[r#"
        Find tools of MCP servers by what they do. The best matches come with their schemas, ready to call with exec. Describe the task in a few words; different phrasings, one per line, find more.

        Servers (number of tools):
          server00 (3): first, second, third
          server01 (3): first, second, third
          server02 (3): first, second, third
          server03 (3): first, second, third
          server04 (3): first, second, third
          server05 (3): first, second, third
          server06 (3): first, second, third
          server07 (3): first, second, third"#]].assert_eq(&reported(1_200, tools_by_server(), many(8)));
    expect![[r#"
        Find tools of MCP servers by what they do. The best matches come with their schemas, ready to call with exec. Describe the task in a few words; different phrasings, one per line, find more.

        Servers (number of tools):
          server00 (3)
          server01 (3)
          server02 (3)
          server03 (3)
          server04 (3)
          server05 (3)
          server06 (3)
          server07 (3)"#]].assert_eq(&reported(900, tools_by_server(), many(8)));
    expect![[r#"
        Find tools of MCP servers by what they do. The best matches come with their schemas, ready to call with exec. Describe the task in a few words; different phrasings, one per line, find more.

        Servers (number of tools):
          server00 (3)
          server01 (3)
          server02 (3)
          server03 (3)
          server04 (3)
          server05 (3)
          server06 (3)
          ... and 33 more"#]].assert_eq(&reported(700, tools_by_server(), many(40)));
}

#[test]
fn search_tool_list_stays_small_for_many_servers() {
    let tools_by_server = (0..16).map(|at| {
        let names = [
            "issue", "pipeline", "workbook", "message", "calendar", "vector",
        ];
        let tools: Vec<String> = (0..24)
            .map(|tool| {
                format!(
                    r#"{{"name":"get_{}_{}"}}"#,
                    names[(at + tool) % 6],
                    names[tool % 6]
                )
            })
            .collect();
        let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
        server_tools(&format!("server-{at}"), "", &tools)
    });
    let tools = facade(
        FacadeMode::Search,
        |_| {},
        tools_by_server.collect(),
        80_000,
    )
    .own_tools();
    let text: String = tools.iter().map(Raw::as_str).collect();
    assert!(narrows_shape::estimate_tokens(&text) < 1_400, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_description_exceeds_its_limit(
        limit in 500_usize..3_000,
        servers in 0_usize..60,
        level in 0_usize..4,
    ) {
        let levels = [ListingDetail::Full, ListingDetail::Capped, ListingDetail::Names, ListingDetail::Servers];
        let set = |settings: &mut FacadeSettings| {
            settings.listing = levels[level];
            settings.listing_max_chars = limit;
        };
        let reported = description(&facade(FacadeMode::Lazy, set, many(servers), 80_000), 0);
        prop_assert!(reported.chars().count() <= limit, "{}", reported);
        let set = |settings: &mut FacadeSettings| settings.listing_max_chars = limit * 2;
        let reported = description(&facade(FacadeMode::Search, set, many(servers), 80_000), 0);
        prop_assert!(reported.chars().count() <= limit, "{}", reported);
    }
}

#[test]
fn control_characters_are_folded_as_white_space() {
    use crate::facade::tool_index::folded;
    assert_eq!(folded("\u{1b}[31ma\0b\u{8}\n c", 80), "[31ma b c");
}
