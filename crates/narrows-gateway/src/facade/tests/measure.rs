use super::*;

#[test]
fn real() {
    let Ok(dir) = std::env::var("CATALOGUES") else {
        return;
    };
    let load = || -> Vec<Shelf> {
        let mut all = Vec::new();
        for file in std::fs::read_dir(&dir).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let r = raw(&text);
            let id = r.member("server").unwrap().as_text().unwrap().into_owned();
            let tools: Vec<String> = r
                .member("tools")
                .unwrap()
                .elements()
                .map(|t| t.as_str().to_owned())
                .collect();
            let refs: Vec<&str> = tools.iter().map(|t| &**t).collect();
            let instr = r
                .member("instructions")
                .and_then(|i| i.as_text().map(|t| t.into_owned()))
                .unwrap_or_default();
            let mut s = shelf(&id, &instr, &refs);
            if let Some(i) = r.member("serverInfo") {
                s.server_info = i;
            }
            all.push(s);
        }
        all
    };
    let f = facade(Expose::Search, |_| {}, load(), 80_000);
    let t0 = std::time::Instant::now();
    let tools = f.own_tools();
    println!("search own_tools {:?}", t0.elapsed());
    let all: String = tools
        .iter()
        .map(|t| t.as_str())
        .collect::<Vec<_>>()
        .join(",");
    println!(
        "search: {} chars ~{} tokens",
        all.len(),
        narrows_shape::estimate_tokens(&all)
    );
    println!(
        "{}",
        tools[0].member("description").unwrap().as_text().unwrap()
    );
    let f = facade(Expose::Lazy, |_| {}, load(), 80_000);
    let t0 = std::time::Instant::now();
    let tools = f.own_tools();
    println!("lazy own_tools {:?}", t0.elapsed());
    let all: String = tools
        .iter()
        .map(|t| t.as_str())
        .collect::<Vec<_>>()
        .join(",");
    println!(
        "lazy: {} chars ~{} tokens",
        all.len(),
        narrows_shape::estimate_tokens(&all)
    );
    println!(
        "{}",
        &tools[0].member("description").unwrap().as_text().unwrap()
    );
    for (max, id) in [
        (80_000, "github"),
        (10_000, "github"),
        (3_000, "server-everything"),
    ] {
        let f = facade(Expose::Lazy, |_| {}, load(), max);
        let t0 = std::time::Instant::now();
        let r = f
            .inspect(Some(&raw(&format!(r#"{{"server_name":"{id}"}}"#))))
            .unwrap_or_else(|_| panic!());
        println!(
            "inspect {id} {max} {:?} {} of",
            t0.elapsed(),
            r.member("structuredContent")
                .unwrap()
                .member("result")
                .unwrap()
                .elements()
                .count()
        );
        let t = texts(&r);
        println!(
            "{:?}",
            t.iter().map(|t| t.chars().count()).collect::<Vec<_>>()
        );
        println!("{}", t[0].chars().take(1500).collect::<String>());
        for b in &t[1..] {
            println!("-- {b}");
        }
    }
    let rows: Vec<String> = (0..150).map(|i| format!(r#"{{"id":{i},"name":"item number {i}","url":"https://example.com/items/{i}","tags":["a","b"],"nested":{{"x":1.50}}}}"#)).collect();
    let inner = format!("[{}]", rows.join(", "));
    let result = raw(&format!(
        r#"{{"content":[{{"type":"text","text":{}}}]}}"#,
        Raw::string(&inner).as_str()
    ));
    for _ in 0..3 {
        let t0 = std::time::Instant::now();
        for _ in 0..20 {
            let _ = f.dress(result.clone());
        }
        println!("dress {} bytes: {:?}", inner.len(), t0.elapsed() / 20);
    }
}
