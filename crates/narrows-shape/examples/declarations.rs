//! Writes one TypeScript module with the types of many schemas, for the real compiler to check.
//!
//! `cargo run -p narrows-shape --example declarations -- OUT FILE...` writes the module to OUT and
//! prints counts. A file is a catalogue (`{"tools": [{"inputSchema", "outputSchema"}]}`) or a list
//! of cases (`[{"name", "schema", "accepts", "refuses"}]`), whose values become assignments that
//! must compile and assignments that must not. The example generates the schemas that would be
//! tedious to write by hand.

use std::error::Error;

use narrows_shape::{TypeScriptOptions, typescript};
use serde_json::{Map, Value, json};

/// The number of random schemas.
const RANDOM: u64 = 3_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut module = Module::default();
    let mut files = std::env::args().skip(1);
    let out = files.next().ok_or("usage: declarations OUT FILE...")?;
    for file in files {
        let content: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        match &content {
            Value::Array(cases) => cases.iter().for_each(|case| module.case(case)),
            catalogue => module.catalogue(&file, catalogue),
        }
    }
    module.schema("every word as a recursive type", &words());
    module.schema("references that double", &doubling());
    module.schema("a thousand levels", &deep());
    let mut random = Random(1);
    for n in 0..RANDOM {
        let schema = random.document();
        module.schema(&format!("random {n}: {schema}"), &schema);
    }
    std::fs::write(out, &module.text)?;
    println!("{} schemas of catalogues", module.of_catalogues);
    println!(
        "{} schemas, each in {} forms, {} values",
        module.schemas,
        FORMS.len(),
        module.values
    );
    Ok(())
}

/// The pairs (descriptions, constraints) under which each schema is written. The fourth pair would
/// exercise no other code.
const FORMS: [(bool, bool); 3] = [(true, false), (true, true), (false, false)];

#[derive(Default)]
struct Module {
    text: String,
    schemas: usize,
    of_catalogues: usize,
    values: usize,
}

impl Module {
    fn catalogue(&mut self, file: &str, catalogue: &Value) {
        let tools = catalogue["tools"].as_array().map(Vec::as_slice);
        for tool in tools.unwrap_or_default() {
            for key in ["inputSchema", "outputSchema"] {
                if let Some(schema) = tool.get(key) {
                    self.of_catalogues += 1;
                    self.schema(&format!("{file} {} {key}", tool["name"]), schema);
                }
            }
        }
    }

    fn case(&mut self, case: &Value) {
        let name = case["name"].as_str().unwrap_or_default();
        let namespace = self.schema(name, &case["schema"]);
        for (key, before) in [("accepts", ""), ("refuses", "// @ts-expect-error\n")] {
            for value in case[key].as_array().into_iter().flatten() {
                self.values += 1;
                let n = self.values;
                self.text += &format!("{before}const value{n}: {namespace}.Schema = {value};\n");
            }
        }
    }

    /// Declares the schema's type in one namespace per form and returns the name of the first
    /// namespace.
    fn schema(&mut self, about: &str, schema: &Value) -> String {
        self.schemas += 1;
        let n = self.schemas;
        let about: String = about.replace("*/", "* /").chars().take(2_000).collect();
        self.text += &format!("// {}\n", about.replace(['\n', '\r'], " "));
        for (form, (descriptions, constraints)) in FORMS.into_iter().enumerate() {
            let options = TypeScriptOptions {
                descriptions,
                constraints,
                ..TypeScriptOptions::default()
            };
            let declaration = typescript(schema, &options).declaration("Schema");
            self.text += &format!("namespace n{n}_{form} {{ export {declaration} }}\n");
        }
        format!("n{n}_0")
    }
}

/// Returns recursive types whose names are TypeScript keywords or built-in types.
fn words() -> Value {
    let words = "any unknown never void null undefined string number boolean bigint symbol object \
        Record Array Promise class new default enum function import export typeof keyof infer \
        readonly unique asserts abstract is as async await get set static type namespace module \
        declare global intrinsic require of out in accessor using satisfies override constructor \
        this super yield let const var interface implements package private protected public \
        delete if for while with Root true false 1 a-b __proto__ toString";
    let mut definitions = Map::new();
    let mut properties = Map::new();
    for word in words.split_whitespace() {
        let reference = json!({ "$ref": format!("#/$defs/{word}") });
        definitions.insert(
            word.into(),
            json!({ "properties": { word: reference, "list": { "items": reference } } }),
        );
        properties.insert(word.into(), reference);
        let unresolved = json!({ "$ref": format!("elsewhere.json#/{word}") });
        properties.insert(format!("{word} elsewhere"), unresolved);
    }
    json!({ "properties": properties, "$defs": definitions })
}

fn doubling() -> Value {
    let mut definitions = Map::new();
    for n in 0..100 {
        let next = json!({ "$ref": format!("#/$defs/T{}", n + 1) });
        let record = json!({ "additionalProperties": next });
        definitions.insert(
            format!("T{n}"),
            json!({ "properties": { "a": next, "b": next, "c": record } }),
        );
    }
    definitions.insert("T100".into(), json!({ "items": { "$ref": "#/$defs/T50" } }));
    json!({ "$ref": "#/$defs/T0", "$defs": definitions })
}

fn deep() -> Value {
    (0..1_000).fold(json!({ "type": "string" }), |inner, n| match n % 3 {
        0 => json!({ "properties": { "a": inner } }),
        1 => json!({ "items": { "anyOf": [inner, { "type": "null" }] } }),
        _ => json!({ "additionalProperties": inner }),
    })
}

/// A generator of schemas that mix all keywords, mainly references in all directions, because the
/// compiler rejects types that refer to themselves directly. The schemas are small, because the
/// compiler also rejects intersections of unions that multiply to a hundred thousand types.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        // A linear congruential generator is random enough and gives the same numbers on every
        // machine.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn document(&mut self) -> Value {
        let mut schema = self.schema(2);
        let definitions = ["A", "B", "C", "D"].map(|name| (name.to_owned(), self.schema(2)));
        if let Value::Object(keywords) = &mut schema {
            let definitions: Map<_, _> = definitions.into_iter().collect();
            keywords.insert("$defs".into(), definitions.into());
        }
        schema
    }

    fn schema(&mut self, depth: u64) -> Value {
        let references = [
            "#/$defs/A",
            "#/$defs/B",
            "#/$defs/C",
            "#/$defs/D",
            "#",
            "E",
            "#/$defs/A/items",
        ];
        if depth == 0 || self.below(3) == 0 {
            return match self.below(8) {
                0 => json!({ "type": "string", "description": "a */ b" }),
                1 => json!({ "enum": ["a", 1, null] }),
                2 => json!({ "type": ["integer", "null"], "default": 1 }),
                _ => json!({ "$ref": references[self.below(7) as usize] }),
            };
        }
        let mut keywords = Map::new();
        for _ in 0..=self.below(2) {
            let (one, two) = (self.schema(depth - 1), self.schema(depth - 1));
            match self.below(11) {
                0 | 1 => keywords.insert("properties".into(), json!({ "a": one, "b-c": two })),
                2 => keywords.insert("items".into(), one),
                3 => keywords.insert("additionalProperties".into(), one),
                4 => keywords.insert("prefixItems".into(), json!([one, two])),
                5 | 6 => keywords.insert("anyOf".into(), json!([one, two])),
                7 => keywords.insert("oneOf".into(), json!([one, two])),
                8 | 9 => keywords.insert("allOf".into(), json!([one, two])),
                _ => keywords.insert("nullable".into(), json!(true)),
            };
        }
        // The compiler wrongly reports one construct as circular: a recursive tuple with a rest
        // element in an intersection with a union.
        if keywords.contains_key("prefixItems") {
            keywords.remove("items");
        }
        if self.below(4) == 0 {
            keywords.insert("description".into(), json!("what /* it\n is */"));
        }
        if self.below(6) == 0 {
            keywords.insert("$ref".into(), json!(references[self.below(7) as usize]));
        }
        keywords.into()
    }
}
