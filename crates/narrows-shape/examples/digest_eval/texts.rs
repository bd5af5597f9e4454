//! Seeded texts with one planted item among 200 others that are equally rare.

use std::ops::Range;

/// The number of rare items in addition to the planted one.
const OTHERS: usize = 200;

/// The kinds of generated texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    Line,
    Value,
    Function,
    Row,
    Paragraph,
}

impl TextKind {
    pub(crate) const ALL: [TextKind; 5] = [
        TextKind::Line,
        TextKind::Value,
        TextKind::Function,
        TextKind::Row,
        TextKind::Paragraph,
    ];
}

/// A text and the item planted in it.
pub(crate) struct Planted {
    pub(crate) text: String,
    /// A part of the planted item that no other line, block or row contains.
    pub(crate) needle: String,
    /// The lines or rows of the planted item, counted from 1.
    pub(crate) place: Range<usize>,
    /// The number of lines, or of rows in an array.
    pub(crate) total: usize,
    pub(crate) unit: Unit,
}

/// The unit that numbers in a digest refer to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Lines,
    Rows,
}

/// Generates the text for a seed.
pub(crate) fn plant(kind: TextKind, seed: u64) -> Planted {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ kind as u64);
    match kind {
        TextKind::Line => log(&mut random, false),
        TextKind::Value => log(&mut random, true),
        TextKind::Function => code(&mut random),
        TextKind::Row => rows(&mut random),
        TextKind::Paragraph => document(&mut random),
    }
}

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Returns a pronounceable random word that is in no word list.
    fn random_word(&mut self) -> String {
        let syllables = [
            "ka", "lo", "mi", "ter", "vun", "rop", "sal", "gre", "din", "pho", "qua", "zel", "bri",
            "tox", "hem", "nad", "wil", "cur", "jos", "fen",
        ];
        (0..self.between(2, 4))
            .map(|_| self.one(&syllables))
            .collect()
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count)
            .map(|_| match self.below(3) {
                0 => self.random_word(),
                _ => self.one(&COMMON).to_owned(),
            })
            .collect();
        words.join(" ")
    }

    /// Returns `count` distinct positions below `end` in ascending order.
    fn places(&mut self, count: usize, end: usize) -> Vec<usize> {
        let mut places = std::collections::BTreeSet::new();
        while places.len() < count {
            places.insert(self.below(end));
        }
        places.into_iter().collect()
    }
}

const COMMON: [&str; 30] = [
    "the", "server", "request", "cache", "was", "not", "value", "found", "in", "queue", "after",
    "retry", "of", "worker", "node", "a", "disk", "limit", "for", "user", "on", "table", "index",
    "before", "state", "while", "job", "token", "with", "lease",
];
const SERVICES: [&str; 8] = [
    "auth",
    "billing",
    "gateway",
    "search",
    "mailer",
    "scheduler",
    "ingest",
    "storage",
];
const USERS: [&str; 12] = [
    "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "mallory",
    "peggy",
];

fn stamp(random: &mut Random, style: usize, at: usize, level: &str) -> String {
    let (h, m, s) = (at / 3600 % 24, at / 60 % 60, at % 60);
    let ms = random.below(1000);
    match style {
        0 => format!("2026-11-16T{h:02}:{m:02}:{s:02}.{ms:03}Z {level}"),
        1 => format!(
            "[16/Nov/2026:{h:02}:{m:02}:{s:02} +0000] {}:",
            level.to_lowercase()
        ),
        2 => format!(
            "Nov 16 {h:02}:{m:02}:{s:02} host{} app[{}]: {level}",
            at % 3,
            4000 + at % 5
        ),
        _ => format!("2026-11-16 {h:02}:{m:02}:{s:02},{ms:03} - {level} -"),
    }
}

fn ordinary(random: &mut Random, template: usize, at: usize) -> (&'static str, String) {
    let service = random.one(&SERVICES);
    let user = random.one(&USERS);
    match template {
        0 => (
            "INFO",
            format!(
                "{service}: request {} from 10.0.{}.{} took {} ms status=200",
                random.below(1_000_000),
                random.below(4),
                random.below(250),
                random.between(12, 60)
            ),
        ),
        1 => (
            "DEBUG",
            format!(
                "cache hit key=user:{} ttl={}s",
                random.below(100_000),
                random.between(30, 300)
            ),
        ),
        2 => (
            "INFO",
            format!(
                "user {user} opened /api/v1/items/{} session={:016x}",
                random.below(9_000),
                random.next()
            ),
        ),
        3 => (
            "INFO",
            format!(
                "job {at} finished in {}.{:02} s, {} rows written",
                random.between(1, 9),
                random.below(100),
                random.between(100, 900)
            ),
        ),
        4 => (
            "DEBUG",
            format!(
                "heartbeat from {service} id={:08x}-{:04x}-4{:03x}-a{:03x}-{:012x} ok",
                random.below(1 << 32),
                random.below(1 << 16),
                random.below(1 << 12),
                random.below(1 << 12),
                random.below(1 << 48)
            ),
        ),
        5 => (
            "INFO",
            format!(
                "{} /static/{}.js HTTP/1.1 200 {}",
                random.one(&["GET", "GET", "GET", "POST"]),
                random.one(&SERVICES),
                random.between(900, 4_000)
            ),
        ),
        _ => (
            "WARN",
            format!(
                "queue {service} depth {} above soft limit",
                random.between(50, 99)
            ),
        ),
    }
}

/// Generates a log with 200 rare lines. The planted item is a further rare line, or a value in a
/// frequent template.
fn log(random: &mut Random, plants_value: bool) -> Planted {
    let style = random.below(4);
    let count = random.between(1_500, 9_000);
    let templates: Vec<usize> = (0..random.between(3, 7)).collect();
    let places = random.places(OTHERS + 1, count);
    let planted = places[random.below(places.len())];
    let mut text = String::new();
    let mut needle = String::new();
    let mut rare = places.iter().copied().peekable();
    for at in 0..count {
        let is_rare = rare.next_if_eq(&at).is_some();
        let line = if at == planted && plants_value {
            let (level, body, odd) = outlier(random);
            needle.clone_from(&odd);
            format!("{} {body}", stamp(random, style, at, level))
        } else if is_rare {
            let level = random.one(&["INFO", "INFO", "DEBUG", "WARN", "ERROR", "NOTICE"]);
            let length = random.between(4, 12);
            let line = format!(
                "{} {}",
                stamp(random, style, at, level),
                random.words(length)
            );
            let line = match random.below(3) {
                0 => format!("{line} ({})", random.below(5_000)),
                _ => line,
            };
            if at == planted {
                let odd = format!("{}{}", random.random_word(), random.random_word());
                needle = format!("{line} {odd}");
                needle.clone()
            } else {
                line
            }
        } else {
            let template = match at < 40 {
                // Outliers are planted in the first template.
                true => 0,
                false => templates[random.below(templates.len())],
            };
            let (level, body) = ordinary(random, template, at);
            format!("{} {body}", stamp(random, style, at, level))
        };
        text.push_str(&line);
        text.push('\n');
    }
    Planted {
        text,
        needle,
        place: planted + 1..planted + 2,
        total: count,
        unit: Unit::Lines,
    }
}

/// Returns a line of the first template with one unusual value, and the part of the line that
/// identifies it.
fn outlier(random: &mut Random) -> (&'static str, String, String) {
    let request = random.below(1_000_000);
    let address = format!("10.0.{}.{}", random.below(4), random.below(250));
    let service = random.one(&SERVICES);
    let (service, took, status) = match random.below(3) {
        0 => (service.to_owned(), random.between(5_000, 99_999), 200),
        1 => (
            service.to_owned(),
            random.between(12, 60),
            random.one(&[503, 500, 418, 302]),
        ),
        _ => (random.random_word(), random.between(12, 60), 200),
    };
    let body =
        format!("{service}: request {request} from {address} took {took} ms status={status}");
    ("INFO", body.clone(), body)
}

/// Generates a source file of near-identical functions with 200 different ones and one planted one.
fn code(random: &mut Random) -> Planted {
    let language = random.below(4);
    let count = random.between(500, 1_100);
    let places = random.places(OTHERS + 1, count);
    let planted = places[random.below(places.len())];
    let mut text = match language {
        0 => "\"\"\"Handlers.\"\"\"\nimport json\nimport os\n\n\n".to_owned(),
        1 => "//! Handlers.\nuse std::fmt;\n\n".to_owned(),
        2 => "import { db } from './db';\n\n".to_owned(),
        _ => "package handlers\n\nimport \"fmt\"\n\n".to_owned(),
    };
    let nouns: Vec<String> = (0..count).map(|_| random.random_word()).collect();
    let mut needle = String::new();
    let mut place = 0..0;
    let mut rare = places.iter().copied().peekable();
    for (at, noun) in nouns.iter().enumerate() {
        let is_rare = rare.next_if_eq(&at).is_some();
        let block = match is_rare {
            true => different(random, language, noun),
            false => handler(random, language, noun, at),
        };
        if at == planted {
            let first = text.matches('\n').count() + 1;
            place = first..first + block.trim_end().matches('\n').count() + 1;
            needle = block.trim_end().to_owned();
        }
        text.push_str(&block);
    }
    let total = text.matches('\n').count();
    Planted {
        text,
        needle,
        place,
        total,
        unit: Unit::Lines,
    }
}

fn handler(random: &mut Random, language: usize, noun: &str, at: usize) -> String {
    let limit = random.one(&[10, 20, 50]);
    match language {
        0 => format!(
            "def handle_{noun}(request):\n    user = request.user\n    if not user.allowed(\"{noun}\"):\n        raise Forbidden({at})\n    rows = db.fetch(\"{noun}\", limit={limit})\n    return respond(rows)\n\n\n"
        ),
        1 => format!(
            "fn handle_{noun}(request: &Request) -> Response {{\n    let user = request.user();\n    if !user.allowed(\"{noun}\") {{\n        return forbidden({at});\n    }}\n    let rows = db::fetch(\"{noun}\", {limit});\n    respond(rows)\n}}\n\n"
        ),
        2 => format!(
            "export async function handle_{noun}(request) {{\n  const user = request.user;\n  if (!user.allowed('{noun}')) {{\n    throw new Forbidden({at});\n  }}\n  const rows = await db.fetch('{noun}', {limit});\n  return respond(rows);\n}}\n\n"
        ),
        _ => format!(
            "func Handle{noun}(r *Request) Response {{\n\tuser := r.User()\n\tif !user.Allowed(\"{noun}\") {{\n\t\treturn forbidden({at})\n\t}}\n\trows := fetch(\"{noun}\", {limit})\n\treturn respond(rows)\n}}\n\n"
        ),
    }
}

fn different(random: &mut Random, language: usize, noun: &str) -> String {
    let statements = random.between(2, 7);
    let mut body = String::new();
    for _ in 0..statements {
        let (a, b, c) = (
            random.random_word(),
            random.random_word(),
            random.one(&COMMON),
        );
        let number = random.below(1_000);
        let (let_, end) = [("", ""), ("let ", ";"), ("const ", ";"), ("", "")][language];
        let indent = ["    ", "    ", "  ", "\t"][language];
        let statement = match random.below(4) {
            0 => format!("{let_}{a} = {b}({c}, {number}){end}"),
            1 => format!("{b}.{c}({a}){end}"),
            2 => format!("{let_}{a} = {b} * {number} + {c}{end}"),
            _ => format!("log(\"{a} {c} {b}\"){end}"),
        };
        body.push_str(&format!("{indent}{statement}\n"));
    }
    match language {
        0 => format!(
            "def {noun}_{}(value):\n{body}    return value\n\n\n",
            random.random_word()
        ),
        1 => format!(
            "fn {noun}_{}(value: u32) -> u32 {{\n{body}    value\n}}\n\n",
            random.random_word()
        ),
        2 => format!(
            "function {noun}_{}(value) {{\n{body}  return value;\n}}\n\n",
            random.random_word()
        ),
        _ => format!(
            "func {noun}{}(value int) int {{\n{body}\treturn value\n}}\n\n",
            random.random_word()
        ),
    }
}

/// Generates rows in one of five layouts, with a rare value in 200 of them and in the planted one.
fn rows(random: &mut Random) -> Planted {
    let layout = random.below(5);
    let count = random.between(800, 5_000);
    let places = random.places(OTHERS + 1, count);
    let planted = places[random.below(places.len())];
    let mut needle = String::new();
    let mut rare = places.iter().copied().peekable();
    let mut all = Vec::with_capacity(count);
    for at in 0..count {
        let is_rare = rare.next_if_eq(&at).is_some();
        let id = 700_000_000 + 7 * at;
        let mut name = format!("item {}", random.below(100_000));
        let mut status = random
            .one(&["active", "active", "active", "paused", "closed"])
            .to_owned();
        let mut total = format!("{}.{:02}", random.between(5, 90), random.below(100));
        let mut owner = format!("\"{}\"", random.one(&USERS));
        let mut extra = String::new();
        if is_rare {
            match random.below(5) {
                0 => status = random.random_word(),
                1 => total = format!("{}.5", random.between(2_000, 900_000)),
                2 => owner = "null".to_owned(),
                3 => extra = format!(",\"{}\":{}", random.random_word(), random.below(100)),
                _ => name = format!("{} {}", random.random_word(), random.random_word()),
            }
        }
        let row = format!(
            "{{\"id\":{id},\"name\":\"{name}\",\"status\":\"{status}\",\"total\":{total},\"owner\":{owner}{extra}}}"
        );
        if at == planted {
            needle = id.to_string();
        }
        all.push(row);
    }
    let (text, unit) = match layout {
        0 => (format!("[{}]", all.join(",")), Unit::Rows),
        1 => {
            let all: Vec<String> = all
                .iter()
                .map(|row| row.replace(",\"", ",\n    \"").replace("\":", "\": "))
                .collect();
            (format!("[\n  {}\n]\n", all.join(",\n  ")), Unit::Rows)
        }
        2 => (
            format!(
                "{{\"total\":{count},\"page\":{{\"next\":null,\"items\":[{}]}}}}",
                all.join(",")
            ),
            Unit::Rows,
        ),
        3 => (
            format!(
                "{{\"tags\":[1,2,3],\"result\":[{}],\"ok\":true}}",
                all.join(", ")
            ),
            Unit::Rows,
        ),
        _ => (all.join("\n") + "\n", Unit::Lines),
    };
    Planted {
        text,
        needle,
        place: planted + 1..planted + 2,
        total: count,
        unit,
    }
}

/// Generates templated prose under headings, with 200 different paragraphs and one planted one.
fn document(random: &mut Random) -> Planted {
    let count = random.between(800, 2_500);
    let places = random.places(OTHERS + 1, count);
    let planted = places[random.below(places.len())];
    let mut text = "# Record of the voyage\n\n".to_owned();
    let mut needle = String::new();
    let mut place = 0..0;
    let mut rare = places.iter().copied().peekable();
    let verbs = ["sailed", "drifted", "rowed", "tacked"];
    let things = ["birds", "whales", "ships", "islands", "clouds", "currents"];
    let moods = ["calm", "tired", "cheerful", "quiet", "restless"];
    for at in 0..count {
        if at % 40 == 0 {
            text.push_str(&format!("## Part {}\n\n", at / 40 + 1));
        }
        let is_rare = rare.next_if_eq(&at).is_some();
        let paragraph = match is_rare {
            true => {
                let sentences: Vec<String> = (0..random.between(1, 3))
                    .map(|_| {
                        let length = random.between(7, 14);
                        random.words(length) + "."
                    })
                    .collect();
                sentences.join(" ")
            }
            false => format!(
                "On day {at} the crew {} {} miles and saw {} {} above the water.\nThe mood on board was {}, and the {} were counted twice before noon.",
                random.one(&verbs),
                random.between(3, 60),
                random.between(2, 90),
                random.one(&things),
                random.one(&moods),
                random.one(&things),
            ),
        };
        if at == planted {
            let first = text.matches('\n').count() + 1;
            place = first..first + paragraph.matches('\n').count() + 1;
            needle.clone_from(&paragraph);
        }
        text.push_str(&paragraph);
        text.push_str("\n\n");
    }
    let total = text.matches('\n').count();
    Planted {
        text,
        needle,
        place,
        total,
        unit: Unit::Lines,
    }
}
