//! Tokens, counted with the o200k vocabulary: makes the table of the estimate,
//! says what it is off by, and what TypeScript and TOON save.
//!
//! `cargo run --release -p narrows-shape --example tokens -- COMMAND
//! --data FOLDER`, where the command is `table`, `errors`, `speed`, `typescript`
//! or `toon`. FOLDER contains `catalogues/*.json`, `results/*.json` and, for the
//! first three, `prune/*.jsonl`; the texts behind the published figures are not
//! part of this repository.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use narrows_shape::toon::{self, Encoding, shortest};
use narrows_shape::{TypeScriptOptions, estimate_tokens, typescript};
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

const USAGE: &str = "usage: tokens table|errors|speed|typescript|toon --data FOLDER";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let tokenizer = tiktoken_rs::o200k_base()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [command, option, data] = &words[..] else {
        return Err(USAGE.into());
    };
    let data = Path::new(data);
    match (command.as_str(), option.as_str()) {
        ("table", "--data") => table(&tokenizer, data),
        ("errors", "--data") => errors(&tokenizer, data),
        ("speed", "--data") => speed(&tokenizer, data),
        ("typescript", "--data") => schemas(&tokenizer, data),
        ("toon", "--data") => results(&tokenizer, data),
        _ => Err(USAGE.into()),
    }
}

/// A text and what it is.
struct Sample {
    kind: &'static str,
    text: String,
}

/// Long texts are cut, so that there are enough samples of every kind.
const PIECE: usize = 4_000;

/// Every second one is counted for the table, the others for the error.
fn halves(samples: Vec<Sample>) -> (Vec<Sample>, Vec<Sample>) {
    let (mut counted, mut left) = (Vec::new(), Vec::new());
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for sample in samples {
        let n = seen.entry(sample.kind).or_default();
        *n += 1;
        if *n % 2 == 1 {
            counted.push(sample);
        } else {
            left.push(sample);
        }
    }
    (counted, left)
}

/// How often a token begins at a byte, by its class and those of the bytes
/// before and after it, in thousandths. Every kind has a weight of its own, whatever there is of
/// it, and three bytes that were hardly ever seen are taken for two.
fn table(tokenizer: &CoreBPE, data: &Path) -> Outcome<()> {
    let (counted, _) = halves(samples(data)?);
    let mut bytes: BTreeMap<&str, usize> = BTreeMap::new();
    for sample in &counted {
        *bytes.entry(sample.kind).or_default() += sample.text.len();
    }
    let mut three = vec![(0.0_f64, 0.0_f64); CLASSES * CLASSES * CLASSES];
    let mut two = vec![(0.0_f64, 0.0_f64); CLASSES * CLASSES];
    for sample in &counted {
        let weight = weight(sample.kind) * 1e6 / bytes[sample.kind] as f64;
        let starts = starts(tokenizer, &sample.text)?;
        let classes: Vec<usize> = sample.text.bytes().map(class).chain([EDGE]).collect();
        let mut before = EDGE;
        for (pair, is_start) in classes.windows(2).zip(starts) {
            let (at, after) = (pair[0], pair[1]);
            let start = if is_start { weight } else { 0.0 };
            for cell in [
                &mut three[(before * CLASSES + at) * CLASSES + after],
                &mut two[before * CLASSES + at],
            ] {
                cell.0 += weight;
                cell.1 += start;
            }
            before = at;
        }
    }
    println!("//! How often a token begins at a byte, between two others. Made by");
    println!("//! `cargo run --release -p narrows-shape --example tokens -- table --data FOLDER`.");
    println!("\n/// How many classes of bytes there are.");
    println!("pub(super) const CLASSES: usize = {CLASSES};");
    println!("\n/// In thousandths, by the classes of three bytes; the last one varies fastest.");
    println!("#[rustfmt::skip]");
    println!("pub(super) const STARTS: [u16; {}] = [", three.len());
    for (n, row) in three.chunks(CLASSES).enumerate() {
        let line: Vec<String> = row
            .iter()
            .map(|&(all, begun)| {
                let (more, more_begun) = two[n];
                // As if seen a few times more, as two bytes say.
                let prior = if more > 0.0 { more_begun / more } else { 1.0 };
                let share = (begun + 20.0 * prior) / (all + 20.0);
                format!("{:.0}", share * 1000.0)
            })
            .collect();
        println!("    {},", line.join(", "));
    }
    println!("];");
    Ok(())
}

fn errors(tokenizer: &CoreBPE, data: &Path) -> Outcome<()> {
    let (_, left) = halves(samples(data)?);
    let mut by_kind: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in &left {
        let count = tokenizer.encode_ordinary(&sample.text).len() as f64;
        let off = (estimate_tokens(&sample.text) as f64 - count) / count;
        let quarter = (sample.text.len().div_ceil(4) as f64 - count) / count;
        by_kind.entry(sample.kind).or_default().push((off, quarter));
    }
    for (kind, offs) in &by_kind {
        let of = |pick: fn(&(f64, f64)) -> f64| {
            let mut sizes: Vec<f64> = offs.iter().map(|off| pick(off).abs()).collect();
            sizes.sort_by(f64::total_cmp);
            let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
            let p95 = sizes[(sizes.len() * 95 / 100).min(sizes.len() - 1)];
            (mean * 100.0, p95 * 100.0)
        };
        let ((mean, p95), (quarter, quarter95)) = (of(|off| off.0), of(|off| off.1));
        println!("| {kind} | {mean:.1} % | {p95:.1} % |");
        eprintln!(
            "{kind:12} {} samples; bytes/4: mean {quarter:.1} %, p95 {quarter95:.1} %",
            offs.len()
        );
    }
    Ok(())
}

fn speed(tokenizer: &CoreBPE, data: &Path) -> Outcome<()> {
    let all: String = samples(data)?
        .into_iter()
        .map(|sample| sample.text)
        .collect();
    let megabytes = all.len() as f64 / 1e6;
    let mut best = f64::MAX;
    for _ in 0..20 {
        let began = Instant::now();
        std::hint::black_box(estimate_tokens(std::hint::black_box(&all)));
        best = best.min(began.elapsed().as_secs_f64());
    }
    println!(
        "estimate: {:.0} MB/s over {megabytes:.1} MB",
        megabytes / best
    );
    let began = Instant::now();
    let count = tokenizer.encode_ordinary(&all).len();
    let exact = began.elapsed().as_secs_f64();
    println!(
        "exact: {:.1} MB/s, {count} tokens; estimate {}",
        megabytes / exact,
        estimate_tokens(&all)
    );
    Ok(())
}

/// The schemas of all tools, of input and output, each as compact JSON and as a
/// line of TypeScript; tokens are counted per schema and added. Then the tools
/// as they are listed, against what `inspect` tells of them.
fn schemas(tokenizer: &CoreBPE, data: &Path) -> Outcome<()> {
    let count = |text: &str| tokenizer.encode_ordinary(text).len();
    let forms = [
        ("descriptions up to 300", true, 300, false),
        ("whole descriptions", true, usize::MAX, false),
        ("whole descriptions, constraints", true, usize::MAX, true),
        ("no descriptions", false, 0, false),
    ];
    let mut sums = [0; 5];
    let mut sums_of_tools = [0; 3];
    print!("{:28} {:>6} {:>8}", "catalogue", "tools", "JSON");
    forms.iter().for_each(|form| {
        print!(
            " {:>16}",
            form.0.split(' ').take(2).collect::<Vec<_>>().join(" ")
        )
    });
    println!();
    for (name, text) in files(&data.join("catalogues"))? {
        let catalogue: Value = serde_json::from_str(&text)?;
        let mut counts = [0; 5];
        let tools = catalogue["tools"].as_array().cloned().unwrap_or_default();
        for tool in &tools {
            let entry = |descriptions: bool| {
                let options = TypeScriptOptions {
                    descriptions,
                    ..TypeScriptOptions::default()
                };
                let schema = typescript(&tool["inputSchema"], &options).to_string();
                match descriptions {
                    true => {
                        json!({ "name": tool["name"], "description": tool["description"], "input_schema": schema })
                    }
                    false => json!({ "name": tool["name"], "input_schema": schema }),
                }
            };
            sums_of_tools[0] += count(&tool.to_string());
            sums_of_tools[1] += count(&entry(true).to_string());
            sums_of_tools[2] += count(&entry(false).to_string());
            let schemas = ["inputSchema", "outputSchema"].map(|key| &tool[key]);
            for schema in schemas.into_iter().filter(|schema| !schema.is_null()) {
                counts[0] += count(&schema.to_string());
                for (n, &(_, descriptions, max_description_len, constraints)) in
                    forms.iter().enumerate()
                {
                    let options = TypeScriptOptions {
                        descriptions,
                        max_description_len,
                        constraints,
                    };
                    counts[n + 1] += count(&typescript(schema, &options).to_string());
                }
            }
        }
        print_counts(&name, tools.len(), counts);
        (0..5).for_each(|n| sums[n] += counts[n]);
    }
    print_counts("all", 0, sums);
    for (n, form) in forms.iter().enumerate() {
        println!("{}: {:+.1} %", form.0, change(sums[n + 1], sums[0]));
    }
    let (listed, [told, names]) = (sums_of_tools[0], [sums_of_tools[1], sums_of_tools[2]]);
    println!("whole tools as listed: {listed} tokens");
    println!(
        "  name, description, type: {told} ({:+.1} %)",
        change(told, listed)
    );
    println!(
        "  name and type alone: {names} ({:+.1} %)",
        change(names, listed)
    );
    Ok(())
}

fn print_counts(name: &str, tools: usize, counts: [usize; 5]) {
    print!("{name:28} {tools:>6} {:>8}", counts[0]);
    for after in &counts[1..] {
        print!(" {after:>8} {:>+5.1} %", change(*after, counts[0]));
    }
    println!();
}

fn change(after: usize, before: usize) -> f64 {
    (after as f64 / before as f64 - 1.0) * 100.0
}

/// The texts of tool results that are JSON, as they are and in both forms.
fn results(tokenizer: &CoreBPE, data: &Path) -> Outcome<()> {
    let count = |text: &str| tokenizer.encode_ordinary(text).len();
    for (name, text) in files(&data.join("results"))? {
        let result: Value = serde_json::from_str(&text)?;
        let Some(content) = result["result"]["content"][0]["text"].as_str() else {
            continue;
        };
        let Ok(best) = shortest(content) else {
            println!("{name:28} no JSON");
            continue;
        };
        let compact = serde_json::from_str::<Value>(content)?.to_string();
        let toon = toon::encode(content)?;
        println!(
            "{name:28} bytes: as it is {} compact {} toon {}; tokens: {} {} {}; {}",
            content.len(),
            compact.len(),
            toon.len(),
            count(content),
            count(&compact),
            count(&toon),
            match best.encoding {
                Encoding::Json => "JSON",
                Encoding::Toon => "TOON",
            },
        );
    }
    Ok(())
}

// The texts.

fn samples(data: &Path) -> Outcome<Vec<Sample>> {
    let mut samples = Vec::new();
    let mut add = |kind: &'static str, text: &str| {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.ceil_char_boundary(PIECE);
            samples.push(Sample {
                kind,
                text: rest[..end].to_owned(),
            });
            rest = &rest[end..];
        }
    };
    for (name, text) in files(&data.join("prune"))? {
        let kind = match name.as_str() {
            "code" => "code",
            "logs" => "logs",
            "docs" => "docs",
            _ => continue,
        };
        for line in text.lines() {
            let case: Value = serde_json::from_str(line)?;
            add(kind, case["text"].as_str().unwrap_or_default());
        }
    }
    for (_, text) in files(&data.join("catalogues"))? {
        let catalogue: Value = serde_json::from_str(&text)?;
        for tool in catalogue["tools"].as_array().into_iter().flatten() {
            add("tools", &tool.to_string());
        }
    }
    for (name, text) in files(&data.join("results"))? {
        let result: Value = serde_json::from_str(&text)?;
        for block in result["result"]["content"].as_array().into_iter().flatten() {
            match (block["text"].as_str(), block["data"].as_str()) {
                (Some(text), _) => {
                    let kind = if serde_json::from_str::<Value>(text).is_ok() {
                        "JSON"
                    } else {
                        "logs"
                    };
                    add(kind, text);
                    if let Ok(value) = serde_json::from_str::<Value>(text) {
                        add("JSON", &value.to_string());
                    }
                }
                (None, Some(data)) => add("base64", data),
                _ => eprintln!("{name}: a block without text"),
            }
        }
    }
    add("base64", &base64(100_000));
    add("white space", &white_space(40_000));
    for text in EAST_ASIAN {
        add("East Asian", text);
    }
    for text in OTHER_SCRIPTS {
        add("other scripts", text);
    }
    Ok(samples)
}

fn weight(kind: &str) -> f64 {
    match kind {
        "base64" => 0.05,
        "white space" => 0.02,
        _ => 1.0,
    }
}

fn files(folder: &Path) -> Outcome<Vec<(String, String)>> {
    let mut files = Vec::new();
    for file in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let file = file?.path();
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        files.push((name, fs::read_to_string(&file)?));
    }
    files.sort();
    Ok(files)
}

/// The same each time, and random enough.
fn numbers() -> impl Iterator<Item = usize> {
    let mut state = 1_u64;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    })
}

fn base64(length: usize) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    numbers()
        .take(length)
        .map(|n| char::from(digits[n % 64]))
        .collect()
}

/// Lines of one word, with spaces, tabs and empty lines before it.
fn white_space(length: usize) -> String {
    let mut text = String::new();
    let mut numbers = numbers();
    while text.len() < length {
        let [a, b, c] = [(); 3].map(|()| numbers.next().unwrap_or_default());
        text += &"\n".repeat(1 + a % 3);
        text += &if c % 4 == 0 {
            "\t".repeat(b % 12)
        } else {
            " ".repeat(b % 60)
        };
        text += ["value", "end", "return", "}"][c % 4];
    }
    text
}

const EAST_ASIAN: [&str; 6] = [
    "这个网关把许多工具服务器合并成一个。客户端只需要连接一次,就可以看到所有的工具、提示和资源。如果某个服务器停止工作,其他服务器不会受到影响。管理员可以随时修改配置文件,新的设置会自动生效,不需要重新启动程序。",
    "昨天下午我们在会议室讨论了新的版本。大家认为速度已经足够快,但是文档还需要改进。王先生建议增加更多的例子,李女士则希望先修复已经知道的错误。最后决定下个星期再开一次会。",
    "このゲートウェイは、多くのツールサーバーを一つにまとめます。クライアントは一度接続するだけで、すべてのツールやリソースを利用できます。設定ファイルを変更すると、再起動しなくても新しい内容が反映されます。",
    "昨日は天気がよかったので、友だちと一緒に海まで歩きました。途中で小さな喫茶店を見つけて、コーヒーを飲みながら仕事の話をしました。帰りは電車に乗り、夜の八時ごろ家に着きました。",
    "이 게이트웨이는 여러 도구 서버를 하나로 묶어 줍니다. 클라이언트는 한 번만 연결하면 모든 도구와 자원을 사용할 수 있습니다. 설정 파일을 바꾸면 프로그램을 다시 시작하지 않아도 새로운 내용이 적용됩니다.",
    "어제는 날씨가 좋아서 친구와 함께 바다까지 걸어갔습니다. 가는 길에 작은 찻집을 발견하고 커피를 마시면서 일에 대해 이야기했습니다. 저녁 여덟 시쯤 집에 돌아왔습니다.",
];

const OTHER_SCRIPTS: [&str; 6] = [
    "Этот шлюз объединяет множество серверов инструментов в один. Клиенту достаточно подключиться один раз, чтобы увидеть все инструменты и ресурсы. Если один сервер перестанет работать, остальные этого не заметят.",
    "Вчера была хорошая погода, и мы с друзьями пошли пешком до самого моря. По дороге нашли маленькое кафе, выпили кофе и поговорили о работе. Домой вернулись около восьми вечера.",
    "Αυτή η πύλη ενώνει πολλούς διακομιστές εργαλείων σε έναν. Ο πελάτης συνδέεται μία φορά και βλέπει όλα τα εργαλεία. Αν ένας διακομιστής σταματήσει, οι άλλοι δεν επηρεάζονται.",
    "Die Straße führt über eine große Brücke; dahinter läge, so erzählte man früher, ein Dörfchen mit schönen Häusern. Größere Züge müssen hier natürlich langsamer fahren.",
    "هذه البوابة تجمع خوادم أدوات كثيرة في خادم واحد. يتصل العميل مرة واحدة فقط ويرى كل الأدوات والموارد. إذا توقف أحد الخوادم فلن تتأثر الخوادم الأخرى.",
    "Cette passerelle réunit de nombreux serveurs d'outils en un seul. Le client se connecte une fois et voit tous les outils. Si un serveur s'arrête, les autres n'en sont pas gênés.",
];

/// Where tokens begin, for each byte.
fn starts(tokenizer: &CoreBPE, text: &str) -> Outcome<Vec<bool>> {
    let mut starts = vec![false; text.len()];
    let mut at = 0;
    for token in tokenizer.encode_ordinary(text) {
        if let Some(start) = starts.get_mut(at) {
            *start = true;
        }
        at += tokenizer.decode_bytes(&[token])?.len();
    }
    Ok(starts)
}

const CLASSES: usize = 12;

/// What stands before and after a text: a line break.
const EDGE: usize = 5;

/// As the estimate has it.
fn class(byte: u8) -> usize {
    usize::from(narrows_shape::token_class(byte))
}
