use super::*;

/// Returns the blocks of a text in the order of their lines, as `name first-last`; a piece has no
/// name.
fn outline(text: &str) -> String {
    let lines = Lines::new(text);
    let outline = Outline::of(&lines, &Deadline::never()).expect("there is no limit");
    let mut blocks = outline.blocks;
    blocks.sort_by_key(|block| (block.span.start, usize::MAX - block.span.end));
    let line = |block: &Block| {
        let name = &lines.line(block.head)[block.name.clone()];
        format!("{name} {}-{}", block.span.start + 1, block.span.end)
    };
    let all: Vec<String> = blocks.iter().map(line).collect();
    all.join(",").trim().to_owned()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(outline(text), expected);
}

#[test]
fn indentation_ends_a_function() {
    check(
        "def a():\n    x\n\n    y\n\ndef b(\n    c,\n):\n    z\n",
        "a 1-4, 5-5,b 6-9",
    );
}

#[test]
fn closing_brace_ends_a_function() {
    check(
        "fn a()\nwhere\n    T: B,\n{\n    x\n}\nfn b() {}\n",
        "a 1-6,b 7-7",
    );
}

#[test]
fn attributes_and_comments_belong_to_the_next_function() {
    let text =
        "x = 1\n\n# About a.\n@cached(\n    3,\n)\ndef a():\n    y\n# About b.\ndef b():\n    z\n";
    check(text, "1-2,a 3-8,b 9-11");
}

#[test]
fn attribute_in_a_body_does_not_attach_to_the_next_function() {
    let text = "fn a() {\n    #[cfg(unix)]\n    {\n        x\n    }\n}\n\nfn b() {\n    y\n}\n";
    check(text, "a 1-6, 7-7,b 8-10");
}

#[test]
fn class_contains_its_methods_and_parts() {
    let text =
        "class A:\n    x = 1\n\n    def b(self):\n        y\n\n    def c(self):\n        z\n";
    check(text, "A 1-8, 1-3,b 4-5, 6-6,c 7-8");
}

#[test]
fn unindented_docstring_does_not_end_a_function() {
    check(
        "def a():\n    \"\"\"One\ntwo\n    \"\"\"\n    x\ndef b():\n    y\n",
        "a 1-5,b 6-7",
    );
}

#[test]
fn without_indentation_a_function_extends_to_the_next() {
    check(
        "function a() {\nx;\ny;\n}\nfunction b() {\nz;\n}\n",
        "a 1-4,b 5-7",
    );
}

#[test]
fn every_line_has_one_owner_at_any_depth() {
    let text: String = (0..10_000)
        .map(|at| format!("{}def f():\n", " ".repeat(at % 300)))
        .collect();
    let lines = Lines::new(&text);
    let outline = Outline::of(&lines, &Deadline::never()).expect("there is no limit");
    assert!(
        outline
            .owner
            .iter()
            .all(|&owner| (owner as usize) < outline.blocks.len())
    );
    let parents = outline.blocks.iter().enumerate();
    assert!(
        parents
            .into_iter()
            .all(|(at, block)| block.parent.is_none_or(|parent| parent < at))
    );
}
