use std::borrow::Cow;

use super::{Index, ServerText, ToolText, first_sentence};

/// Servers with their tools, each with a name and a description.
type Catalogue<'a> = &'a [(&'a str, &'a [(&'a str, &'a str)])];

const OFFICE: Catalogue<'_> = &[
    (
        "tracker",
        &[
            ("list_issues", "Lists issues of a project."),
            ("create_issue", "Creates an issue."),
            ("delete_issue", "Deletes an issue for good."),
            ("add_comment", "Adds a comment to an issue."),
            ("update_assignee", "Sets the assignee of an issue."),
        ],
    ),
    (
        "stripe",
        &[
            ("create_refund", "Creates a refund for a charge."),
            ("list_invoices", "Lists invoices."),
            ("cancel_subscription", "Cancels a subscription."),
        ],
    ),
    (
        "calendar",
        &[
            ("list_events", "Lists events between two dates."),
            ("create_event", "Creates an event."),
            ("get_freebusy", "Returns when somebody is busy."),
        ],
    ),
    (
        "kube",
        &[
            ("pods_list", "Lists pods in a namespace."),
            ("pods_log", "Returns the logs of a pod."),
            ("resources_scale", "Sets the replicas of a deployment."),
        ],
    ),
];

fn index(catalogue: Catalogue<'_>) -> Index {
    let servers: Vec<ServerText<'_>> = catalogue
        .iter()
        .map(|&(name, _)| ServerText {
            name,
            instructions: "",
        })
        .collect();
    let mut tools = Vec::new();
    for (server, (_, own)) in catalogue.iter().enumerate() {
        tools.extend(own.iter().map(|&(name, description)| ToolText {
            server,
            name,
            title: "",
            description,
            parameters: &[],
        }));
    }
    Index::new(&servers, &tools)
}

fn names(catalogue: Catalogue<'static>) -> Vec<&'static str> {
    let tools = catalogue.iter().flat_map(|(_, tools)| tools.iter());
    tools.map(|&(name, _)| name).collect()
}

fn found(query: &str) -> Vec<&'static str> {
    let hits = index(OFFICE).search(query, None, usize::MAX);
    hits.into_iter()
        .map(|hit| names(OFFICE)[hit.tool])
        .collect()
}

#[track_caller]
fn check(query: &str, first: &str) {
    assert_eq!(
        found(query).first(),
        Some(&first),
        "{query}: {:?}",
        found(query)
    );
}

#[test]
fn tool_is_found_by_its_words() {
    check("list issues", "list_issues");
    check("create_event", "create_event");
    check("logs of a pod", "pods_log");
}

#[test]
fn tool_is_found_by_synonyms() {
    check("get rid of that ticket", "delete_issue");
    check("which bugs are there?", "list_issues");
    check("the customer wants his money back", "create_refund");
    check("put a meeting in my diary", "create_event");
    check("who has time on Friday, is anyone free?", "get_freebusy");
    check("show me the containers", "pods_list");
}

#[test]
fn tool_is_found_in_other_languages() {
    check("supprime ce ticket", "delete_issue");
    check("Lösche das Ticket", "delete_issue");
    check("¿qué facturas hay?", "list_invoices");
    check("创建一个会议", "create_event");
    check("Kundenrechnungen anzeigen", "list_invoices");
}

#[test]
fn tool_with_the_opposite_action_ranks_lower() {
    let place = |query: &str, name: &str| {
        let found = found(query);
        found
            .iter()
            .position(|&one| one == name)
            .expect("a tool that shares the object")
    };
    assert!(place("remove the issue", "delete_issue") < place("remove the issue", "create_issue"));
    assert!(place("make an issue", "create_issue") < place("make an issue", "delete_issue"));
    assert!(
        place("what issues do we have", "list_issues")
            < place("what issues do we have", "delete_issue")
    );
}

#[test]
fn multi_line_query_is_one_task() {
    let alone = found("zebra quagga");
    assert!(alone.is_empty(), "{alone:?}");
    check("zebra quagga\nmoney back", "create_refund");
    check("list the invoices\nshow bills\nfactures", "list_invoices");
}

#[test]
fn other_tools_of_the_matching_server_rank_lower() {
    let found = found("a new event in the calendar");
    assert_eq!(found.first(), Some(&"create_event"), "{found:?}");
    assert!(found.contains(&"get_freebusy"), "{found:?}");
    assert!(!found.contains(&"pods_log"), "{found:?}");
}

#[test]
fn server_filter_restricts_results() {
    let index = index(OFFICE);
    let hits = index.search("list everything new", Some(2), 10);
    assert!(!hits.is_empty());
    assert!(
        hits.iter()
            .all(|hit| ["list_events", "create_event", "get_freebusy"]
                .contains(&names(OFFICE)[hit.tool])),
        "{hits:?}"
    );
    assert!(index.search("list issues", Some(99), 10).is_empty());
}

#[test]
fn limit_truncates_results() {
    let index = index(OFFICE);
    let all = index.search("create an event or list issues", None, usize::MAX);
    assert!(all.len() > 3);
    assert!(all.is_sorted_by(|a, b| a.score >= b.score));
    for limit in 0..=all.len() + 1 {
        let some = index.search("create an event or list issues", None, limit);
        assert_eq!(some, all[..limit.min(all.len())]);
    }
}

#[test]
fn ties_are_stable_and_results_deterministic() {
    let duplicates: Catalogue<'_> = &[
        ("a", &[("go", "Goes."), ("go", "Goes.")]),
        ("a", &[("go", "Goes.")]),
    ];
    let first = index(duplicates).search("go", None, 10);
    let order: Vec<usize> = first.iter().map(|hit| hit.tool).collect();
    assert_eq!(order, [0, 1, 2]);
    for _ in 0..5 {
        assert_eq!(index(duplicates).search("go", None, 10), first);
    }
}

#[test]
fn titles_and_parameters_are_searched() {
    let parameters = [(Cow::Borrowed("x"), Cow::Borrowed("The quagga to feed."))];
    let tool = ToolText {
        server: 0,
        name: "a",
        title: "",
        description: "",
        parameters: &[],
    };
    let tools = [
        tool,
        ToolText {
            title: "Zebra",
            ..tool
        },
        ToolText {
            parameters: &parameters,
            ..tool
        },
    ];
    let index = Index::new(
        &[ServerText {
            name: "zoo",
            instructions: "",
        }],
        &tools,
    );
    let first = |query| index.search(query, None, 1).first().map(|hit| hit.tool);
    assert_eq!(first("zebras"), Some(1));
    assert_eq!(first("quaggas"), Some(2));
    assert_eq!(first("okapi"), None);
}

#[test]
fn empty_and_oversized_indexes_can_be_searched() {
    assert!(Index::new(&[], &[]).search("anything", None, 5).is_empty());
    let lost = ToolText {
        server: 7,
        name: "zebra",
        title: "",
        description: "",
        parameters: &[],
    };
    assert_eq!(Index::new(&[], &[lost]).search("zebra", None, 5).len(), 1);
    let long = "zebra é删除 ".repeat(20_000);
    let server = ServerText {
        name: &long,
        instructions: &long,
    };
    let tool = ToolText {
        server: 0,
        name: &long,
        title: &long,
        description: &long,
        parameters: &[],
    };
    assert_eq!(
        Index::new(&[server], &[tool])
            .search(&long, Some(0), 5)
            .len(),
        1
    );
}

#[test]
fn first_sentence_ends_at_its_full_stop() {
    assert_eq!(
        first_sentence("Reads v1.2 files. Then more.").0,
        "Reads v1.2 files."
    );
    assert_eq!(first_sentence("  One line\nTwo. Three").0, "One line");
    assert_eq!(first_sentence(""), ("", ""));
    assert!(first_sentence(&"é".repeat(1000)).0.len() <= 300);
}
