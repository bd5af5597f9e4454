//! Tests of each keyword, followed by generated schemas.

mod hostile;

use super::{TypeScriptOptions, typescript_of_text};

fn plain() -> TypeScriptOptions {
    TypeScriptOptions::default()
}

fn constraints() -> TypeScriptOptions {
    TypeScriptOptions {
        constraints: true,
        ..plain()
    }
}

fn cut_at(max_description_len: usize) -> TypeScriptOptions {
    TypeScriptOptions {
        max_description_len,
        ..plain()
    }
}

#[track_caller]
fn check(schema: &str, options: TypeScriptOptions, expected: &str) {
    let text = typescript_of_text(schema, &options).expect("JSON");
    assert_eq!(text.to_string(), expected, "of {schema}");
}

#[track_caller]
fn all(cases: &[(&str, &str)]) {
    for (schema, expected) in cases {
        check(schema, plain(), expected);
    }
}

#[test]
fn members_are_separated_by_semicolons_and_optional() {
    all(&[
        (
            r#"{"type":"object","properties":{"path":{"type":"string","description":"File path"},"mode":{"type":"string"}},"required":["path"]}"#,
            "{path: string /* File path */; mode?: string}",
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"null"}},"required":["b"]}}}"#,
            "{a?: {b: null}}",
        ),
        // A required name without a schema is a member, too.
        (
            r#"{"type":"object","properties":{"a":{}},"required":["b","b"]}"#,
            "{a?: unknown; b: unknown}",
        ),
        (r#"{"type":"object","required":"a"}"#, "{}"),
    ]);
}

#[test]
fn non_identifier_names_are_quoted() {
    all(&[
        (
            r#"{"properties":{"a-b":{},"1":{},"":{},"ä":{},"$x_1":{},"a\"\n\u2028":{}}}"#,
            r#"{"a-b"?: unknown; "1"?: unknown; ""?: unknown; "ä"?: unknown; $x_1?: unknown; "a\"\n\u2028"?: unknown}"#,
        ),
        (
            r#"{"properties":{"class":{},"new":{},"default":{}}}"#,
            "{class?: unknown; new?: unknown; default?: unknown}",
        ),
    ]);
}

#[test]
fn scalars_are_mapped_and_unknown_types_are_unknown() {
    all(&[
        (r#"{"type":"string"}"#, "string"),
        (r#"{"type":"integer"}"#, "number"),
        (r#"{"type":"number"}"#, "number"),
        (r#"{"type":"boolean"}"#, "boolean"),
        (r#"{"type":"null"}"#, "null"),
        (r#"{"type":"file"}"#, "unknown"),
        (r#"{"type":7}"#, "unknown"),
        (r#"{"type":[]}"#, "unknown"),
        (r#"{}"#, "unknown"),
        (r#"true"#, "unknown"),
        (r#"false"#, "never"),
        (r#"17"#, "unknown"),
        (r#"[1]"#, "unknown"),
        (r#"null"#, "unknown"),
        (
            r#"{"properties":{"a":true,"b":false}}"#,
            "{a?: unknown; b?: never}",
        ),
    ]);
}

#[test]
fn type_is_inferred_from_properties_or_items() {
    all(&[
        (r#"{"properties":{"a":{"type":"string"}}}"#, "{a?: string}"),
        (r#"{"properties":{}}"#, "{}"),
        (r#"{"items":{"type":"string"}}"#, "string[]"),
        (r#"{"prefixItems":[{"type":"string"}]}"#, "[string]"),
        (
            r#"{"additionalProperties":{"type":"string"}}"#,
            "Record<string, string>",
        ),
        (r#"{"properties":{},"items":{}}"#, "{} | unknown[]"),
        (r#"{"required":["a"]}"#, "unknown"),
        // Keywords for another type do not apply to this one.
        (r#"{"type":"string","properties":{"a":{}}}"#, "string"),
    ]);
}

#[test]
fn arrays_parenthesize_unions_and_intersections() {
    all(&[
        (r#"{"type":"array"}"#, "unknown[]"),
        (r#"{"type":"array","items":true}"#, "unknown[]"),
        (r#"{"type":"array","items":false}"#, "never[]"),
        (
            r#"{"type":"array","items":{"type":"array","items":{"type":"number"}}}"#,
            "number[][]",
        ),
        (
            r#"{"type":"array","items":{"type":["string","null"]}}"#,
            "(string | null)[]",
        ),
        (r#"{"items":{"enum":["a","b"]}}"#, r#"("a" | "b")[]"#),
        (r#"{"items":{"enum":["a"]}}"#, r#""a"[]"#),
        (
            r#"{"items":{"properties":{"a":{}},"additionalProperties":{"type":"string"}}}"#,
            "({a?: unknown} & Record<string, string>)[]",
        ),
        (
            r#"{"description":"Tags","items":{"type":"string","description":"one"}}"#,
            "string /* one */[] /* Tags */",
        ),
        (
            r#"{"items":{"type":["string","null"],"description":"one"}}"#,
            "(string | null /* one */)[]",
        ),
    ]);
}

#[test]
fn both_tuple_spellings_are_supported() {
    all(&[
        (
            r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}"#,
            "[string, number]",
        ),
        (
            r#"{"prefixItems":[{"type":"string"}],"items":{"type":["number","null"]}}"#,
            "[string, ...(number | null)[]]",
        ),
        (
            r#"{"prefixItems":[{"type":"string"}],"items":true}"#,
            "[string, ...unknown[]]",
        ),
        (
            r#"{"prefixItems":[{"type":"string"}],"items":false}"#,
            "[string]",
        ),
        (r#"{"items":[{"type":"string"},{}]}"#, "[string, unknown]"),
        (
            r#"{"items":[{"type":"string"}],"additionalItems":{"type":"number"}}"#,
            "[string, ...number[]]",
        ),
        (
            r#"{"items":[{"type":"string"}],"additionalItems":false}"#,
            "[string]",
        ),
        (
            r#"{"items":[{"type":"string"},{"type":["number","null"]},{"type":"null"}],"minItems":1}"#,
            "[string, (number | null)?, null?]",
        ),
        (
            r#"{"type":"array","prefixItems":[],"items":{"type":"string"}}"#,
            "string[]",
        ),
        (r#"{"type":"array","items":[]}"#, "unknown[]"),
    ]);
}

#[test]
fn objects_without_or_with_additional_properties_are_mapped() {
    all(&[
        (r#"{"type":"object"}"#, "{}"),
        (r#"{"type":"object","additionalProperties":false}"#, "{}"),
        (
            r#"{"type":"object","additionalProperties":true}"#,
            "Record<string, unknown>",
        ),
        (
            r#"{"type":"object","additionalProperties":{}}"#,
            "Record<string, unknown>",
        ),
        (
            r#"{"type":"object","additionalProperties":{"type":["string","null"]}}"#,
            "Record<string, string | null>",
        ),
        (
            r#"{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}"#,
            "{a?: string} & Record<string, string>",
        ),
        (
            r#"{"properties":{"a":{}},"additionalProperties":true}"#,
            "{a?: unknown}",
        ),
        (
            r#"{"properties":{"a":{}},"additionalProperties":false}"#,
            "{a?: unknown}",
        ),
        (
            r#"{"patternProperties":{"^x":{"type":"string"},"^y":{"type":"number"}},"additionalProperties":false}"#,
            "Record<string, string | number>",
        ),
    ]);
}

#[test]
fn unions_are_joined_without_duplicates() {
    all(&[
        (r#"{"type":["string","null"]}"#, "string | null"),
        (
            r#"{"type":["integer","number","string"]}"#,
            "number | string",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"number"},{"type":"null"}]}"#,
            "string | number | null",
        ),
        (
            r#"{"oneOf":[{"type":["string","null"]},{"type":["null","boolean"]}]}"#,
            "string | null | boolean",
        ),
        (r#"{"anyOf":[{"type":"string"},{}]}"#, "string | unknown"),
        (r#"{"anyOf":[]}"#, "unknown"),
        // The descriptions of two members of the same type share one comment.
        (
            r#"{"anyOf":[{"type":"string","description":"a date"},{"type":"string","description":"or a word"},{"type":"null"}]}"#,
            "string /* a date; or a word */ | null",
        ),
        (
            r#"{"anyOf":[{"enum":["a","b"],"description":"letters"},{"type":"null"}],"description":"all"}"#,
            r#"("a" | "b") /* letters */ | null /* all */"#,
        ),
        // A bare type next to a union is redundant.
        (
            r#"{"type":"object","oneOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}"#,
            "{a?: unknown} | {b?: unknown}",
        ),
        (
            r#"{"type":"string","anyOf":[{"const":"a"},{"pattern":"^b"}]}"#,
            r#""a" | string"#,
        ),
        (r#"{"type":"string","anyOf":[true]}"#, "string"),
        // A type with members is not.
        (
            r#"{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
            "{a?: unknown; b?: unknown} & ({a: unknown} | {b: unknown})",
        ),
        (
            r#"{"properties":{"a":{}},"oneOf":[{"not":{}},{"properties":{"b":{}}}]}"#,
            "{a?: unknown}",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}],"oneOf":[{"const":"a"},{"const":"b"}]}"#,
            r#"(string | null) & ("a" | "b")"#,
        ),
    ]);
}

#[test]
fn nullable_adds_null_once() {
    all(&[
        (r#"{"type":"string","nullable":true}"#, "string | null"),
        (
            r#"{"type":["string","null"],"nullable":true}"#,
            "string | null",
        ),
        (
            r#"{"enum":["a"],"nullable":true,"description":"x"}"#,
            r#""a" | null /* x */"#,
        ),
        (r#"{"type":"string","nullable":false}"#, "string"),
        (r#"{"nullable":true}"#, "unknown"),
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/A","nullable":true}},"$defs":{"A":{"type":"string"}}}"##,
            "{a?: string | null}",
        ),
    ]);
}

#[test]
fn literals_are_json_literals() {
    all(&[
        (
            r#"{"type":"string","enum":["a","b\"c","a"]}"#,
            r#""a" | "b\"c""#,
        ),
        (r#"{"enum":[1,-2.5,true,null]}"#, "1 | -2.5 | true | null"),
        (r#"{"const":"x"}"#, r#""x""#),
        (r#"{"const":null}"#, "null"),
        (r#"{"const":{"a":1}}"#, "unknown"),
        (r#"{"enum":["a",[1],{}]}"#, r#""a" | unknown"#),
        (r#"{"enum":[]}"#, "never"),
        (r#"{"enum":"a"}"#, "unknown"),
        (r#"{"enum":["a","b"],"const":"b"}"#, r#""b""#),
    ]);
}

#[test]
fn all_of_is_merged() {
    all(&[
        (
            r#"{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number"}},"required":["c"]}],"properties":{"c":{}}}"#,
            "{c: unknown; a: string; b?: number}",
        ),
        (
            r##"{"allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/A"}],"$defs":{"A":{"properties":{"a":{}}}}}"##,
            "{a?: unknown}",
        ),
        // A name that occurs twice means both at once.
        (
            r#"{"allOf":[{"properties":{"a":{"type":["string","null"]}}},{"properties":{"a":{"enum":["x"]}}}]}"#,
            r#"{a?: "x"}"#,
        ),
        (
            r#"{"allOf":[{"type":["string","null"]},{"type":["null","number"]}]}"#,
            "null",
        ),
        (
            r#"{"allOf":[{"type":"string"},{"type":"number"}]}"#,
            "never",
        ),
        (r#"{"allOf":[{"type":"string"},false]}"#, "never"),
        (
            r#"{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}"#,
            r#""b""#,
        ),
        (r#"{"allOf":[true,{"minLength":1}]}"#, "unknown"),
        (
            r#"{"allOf":[{"type":"string","description":"inner"}],"description":"outer"}"#,
            "string /* outer */",
        ),
        (
            r#"{"allOf":[{"anyOf":[{"const":1},{"const":2}]},{"properties":{"a":{}}}]}"#,
            "{a?: unknown} & (1 | 2)",
        ),
    ]);
}

#[test]
fn references_are_resolved_in_place() {
    all(&[
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/definitions/B"}},"$defs":{"A":{"type":"string"}},"definitions":{"B":{"items":{"$ref":"#/$defs/A"}}}}"##,
            "{a?: string; b?: string[]}",
        ),
        (
            r##"{"$ref":"#/$defs/a~1b~0c%20%C3%A4","$defs":{"a/b~c ä":{"type":"string"}}}"##,
            "string",
        ),
        (
            r##"{"$ref":"#/$defs/100%25","$defs":{"100%25":{"type":"string"}}}"##,
            "string",
        ),
        (
            r##"{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}"##,
            "{a?: string; b?: string}",
        ),
        // The description at the reference takes precedence over the one at its target.
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/A","description":"here"},"b":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string","description":"there"}}}"##,
            "{a?: string /* here */; b?: string /* there */}",
        ),
        (
            r##"{"properties":{"a":{"allOf":[{"$ref":"#/$defs/A"}],"description":"here","default":1}},"$defs":{"A":{"type":"string"}}}"##,
            "{a?: string /* here */}",
        ),
        (
            r##"{"$ref":"#/$defs/A","properties":{"b":{}},"$defs":{"A":{"properties":{"a":{}}}}}"##,
            "{b?: unknown; a?: unknown}",
        ),
    ]);
}

#[test]
fn recursive_types_are_named_and_declared_at_the_end() {
    all(&[
        (
            r##"{"properties":{"root":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"properties":{"next":{"$ref":"#/$defs/Node"}},"description":"A node"}}}"##,
            "{root?: Node}; type Node = {next?: Node} /* A node */",
        ),
        (
            r##"{"properties":{"children":{"items":{"$ref":"#"}}}}"##,
            "Root; type Root = {children?: Root[]}",
        ),
        // Two types that need each other: the outer one gets the name.
        (
            r##"{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"properties":{"a":{"$ref":"#/$defs/A"}}}}}"##,
            "A; type A = {b?: {a?: A}}",
        ),
        (
            r##"{"$ref":"#/$defs/J","$defs":{"J":{"anyOf":[{"type":"string"},{"items":{"$ref":"#/$defs/J"}},{"additionalProperties":{"$ref":"#/$defs/J"}}]}}}"##,
            "J; type J = string | J[] | {[key: string]: J}",
        ),
        (
            r##"{"$ref":"#/$defs/T","$defs":{"T":{"prefixItems":[{"type":"string"},{"$ref":"#/$defs/T"}]}}}"##,
            "T; type T = [string, T]",
        ),
        (
            r##"{"$ref":"#/$defs/N","$defs":{"N":{"properties":{"more":{"allOf":[{"$ref":"#/$defs/N"},{"properties":{"x":{}}}]}}}}}"##,
            "N; type N = {more?: N & {x?: unknown}}",
        ),
        // Names that are invalid or already taken.
        (
            r##"{"$ref":"#/$defs/string","$defs":{"string":{"items":{"$ref":"#/$defs/string"}}}}"##,
            "string_; type string_ = string_[]",
        ),
        (
            r##"{"properties":{"a":{"$ref":"x.json#/A"},"b":{"$ref":"#/$defs/A"},"c":{"$ref":"#/definitions/A"}},"$defs":{"A":{"items":{"$ref":"#/$defs/A"}}},"definitions":{"A":{"items":{"$ref":"#/definitions/A"}}}}"##,
            "{a?: A; b?: A2; c?: A3}; type A2 = A2[]; type A3 = A3[]",
        ),
    ]);
}

#[test]
fn self_referential_type_is_unknown() {
    all(&[
        (r##"{"$ref":"#"}"##, "unknown"),
        (
            r##"{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}"##,
            "unknown",
        ),
        (
            r##"{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}}}"##,
            "unknown | null",
        ),
        (r##"{"allOf":[{"$ref":"#"},{"type":"string"}]}"##, "string"),
        (
            r##"{"$ref":"#/$defs/A","$defs":{"A":{"allOf":[{"$ref":"#/$defs/B"},{"properties":{"x":{}}}]},"B":{"allOf":[{"$ref":"#/$defs/A"},{"properties":{"y":{}}}]}}}"##,
            "{x?: unknown; y?: unknown}",
        ),
        // B is valid inside A's member, but next to it, A would be defined as itself.
        (
            r##"{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"properties":{"b":{"$ref":"#/$defs/B"}}},{"$ref":"#/$defs/B"}]},"B":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"number"}]}}}"##,
            "A; type A = {b?: A | number} | unknown",
        ),
    ]);
}

#[test]
fn unresolvable_reference_uses_its_last_segment() {
    all(&[
        (r##"{"$ref":"#/$defs/Missing"}"##, "Missing"),
        (
            r##"{"$ref":"https://example.test/schemas/Thing"}"##,
            "Thing",
        ),
        (r##"{"$ref":"other.json#Thing"}"##, "Thing"),
        (r##"{"$ref":"https://example.test/thing.json"}"##, "unknown"),
        (r##"{"$ref":"#/$defs/a b"}"##, "unknown"),
        (r##"{"$ref":"#/$defs/class"}"##, "unknown"),
        (r##"{"$ref":"#/$defs/number"}"##, "unknown"),
        (r##"{"$ref":""}"##, "unknown"),
        (r##"{"$ref":7}"##, "unknown"),
        (r##"{"$ref":"#/title","title":"a title"}"##, "title"),
    ]);
    let text = typescript_of_text(r##"{"$ref":"#/$defs/Missing"}"##, &plain()).expect("JSON");
    assert_eq!(
        text.declaration("Input"),
        "type Input = Missing; type Missing = unknown;"
    );
}

#[test]
fn descriptions_are_folded_and_cannot_close_the_comment() {
    all(&[
        (
            r#"{"type":"string","description":" two\n\t words\r\nand\u2028a line \u001b[1m"}"#,
            "string /* two words and a line [1m */",
        ),
        (
            r#"{"type":"string","description":"a */ b **//* c"}"#,
            "string /* a * / b ** //* c */",
        ),
        (r#"{"type":"string","description":"*"}"#, "string /* * */"),
        (r#"{"type":"string","description":" \n"}"#, "string"),
        (r#"{"type":"string","description":7}"#, "string"),
        (
            r#"{"description":"of nothing"}"#,
            "unknown /* of nothing */",
        ),
    ]);
}

#[test]
fn long_descriptions_are_truncated_by_characters() {
    let schema =
        |description: &str| format!(r#"{{"type":"string","description":"{description}"}}"#);
    let at = |length| "ä".repeat(length);
    check(
        &schema(&at(300)),
        plain(),
        &format!("string /* {} */", at(300)),
    );
    check(
        &schema(&at(301)),
        plain(),
        &format!("string /* {}... */", at(297)),
    );
    check(&schema("abcdef"), cut_at(5), "string /* ab... */");
    check(&schema("abcde"), cut_at(5), "string /* abcde */");
    check(&schema("abcde"), cut_at(2), "string /* .. */");
    check(&schema("abcde"), cut_at(0), "string");
    let without = TypeScriptOptions {
        descriptions: false,
        ..plain()
    };
    check(&schema("abcde"), without, "string");
}

#[test]
fn constraints_precede_the_description() {
    let zod = r#"{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}"#;
    let long = format!(r#"{{"default":"{}"}}"#, "x".repeat(1000));
    for (schema, expected) in [
        (
            r#"{"type":"integer","default":30,"minimum":1,"maximum":100}"#,
            "number /* =30; 1..100 */",
        ),
        (
            r#"{"type":"integer","default":30,"minimum":1,"maximum":100,"description":"Seconds"}"#,
            "number /* =30; 1..100; Seconds */",
        ),
        (r#"{"type":"number","minimum":0}"#, "number /* >=0 */"),
        (r#"{"type":"number","maximum":0.5}"#, "number /* <=0.5 */"),
        (
            r#"{"type":"number","exclusiveMinimum":0,"maximum":9}"#,
            "number /* <=9; >0 */",
        ),
        (
            r#"{"type":"number","minimum":0,"exclusiveMinimum":true,"exclusiveMaximum":1}"#,
            "number /* >0; <1 */",
        ),
        (
            r#"{"type":"number","multipleOf":5}"#,
            "number /* multiple of 5 */",
        ),
        (zod, "number"),
        (
            r#"{"type":"string","minLength":1,"maxLength":50}"#,
            "string /* len 1..50 */",
        ),
        (
            r#"{"type":"string","minLength":2,"maxLength":2}"#,
            "string /* len exactly 2 */",
        ),
        (r#"{"type":"string","minLength":0}"#, "string"),
        (
            r#"{"type":"string","pattern":"^a*/$","format":"uri"}"#,
            "string /* /^a* /$/; uri */",
        ),
        (
            r#"{"items":{"type":"string"},"minItems":1,"maxItems":9,"uniqueItems":true}"#,
            "string[] /* 1..9 items; unique */",
        ),
        (
            r#"{"type":"object","minProperties":1}"#,
            "{} /* >=1 keys */",
        ),
        (
            r#"{"type":"string","default":"a*/b","deprecated":true}"#,
            r#"string /* ="a* /b"; deprecated */"#,
        ),
        (
            r#"{"type":"array","default":[1,{"a":null}]}"#,
            r#"unknown[] /* =[1,{"a":null}] */"#,
        ),
        (&long, &format!(r#"unknown /* ="{}... */"#, "x".repeat(76))),
    ] {
        check(schema, constraints(), expected);
        let bare = typescript_of_text(schema, &plain())
            .expect("JSON")
            .to_string();
        assert!(!bare.contains('=') && !bare.contains(".."), "{bare}");
    }
}
