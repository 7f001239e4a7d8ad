//! Excerpts of long results: within their limits, and nothing broken where they are cut.

use cupel::conversation::plan::Excerpt;
use cupel::tokens::{HeuristicCounter, TokenCounter};
use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use crate::counters;

fn characters() -> impl TokenCounter {
    cupel::tokens::counter_fn("characters / 4", |text: &str| {
        i64::try_from(text.chars().count().div_ceil(4)).unwrap()
    })
}

fn excerpt(text: &str, limit: i64) -> String {
    let excerpt = Excerpt::of(text, limit, false, &characters());
    assert!(excerpt.tokens <= limit, "{excerpt:?}");
    excerpt.text
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        "(?s)[\\PC\n\"\\\\]{0,90}".prop_map(Value::from),
        "([a-z]{2,9} ){0,60}".prop_map(Value::from),
        "(\\{\"a\": \\[[1-9]{1,60}\\]\\}){1}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 120, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
            prop::collection::btree_map("[a-z…\"\n]{0,9}", inner, 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Text of things that must not be taken apart.
const WHOLE: [&str; 9] =
    ["👩‍👩‍👧", "🇩🇪", "🇫🇷", "e\u{301}", "क्षि", "\r\n", "한", "\u{1b}[1;31mred", "\u{1b}[0m"];

proptest! {
    #[test]
    fn json_stays_json(value in any_json(), limit in 0_i64..300, hash: bool, pretty: bool) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        for counter in counters() {
            let excerpt = Excerpt::of(&text, limit, hash, &*counter);
            prop_assert!(excerpt.tokens <= limit);
            prop_assert_eq!(&Excerpt::of(&text, limit, hash, &*counter), &excerpt);
            if counter.count("\"…\"") <= limit {
                let short = serde_json::from_str::<Value>(&excerpt.text);
                prop_assert!(short.is_ok(), "{}\n{}", excerpt.text, text);
                if counter.count("{\"…\":\"…\"}") <= limit {
                    let short = short.unwrap();
                    prop_assert_eq!(short.is_array(), value.is_array(), "{}", &excerpt.text);
                    prop_assert_eq!(short.is_object(), value.is_object(), "{}", &excerpt.text);
                }
            }
        }
    }

    #[test]
    fn graphemes_and_escapes_stay_whole(
        parts in prop::collection::vec(prop::sample::select(&WHOLE[..]), 1..400),
        limit in 1_i64..200,
        in_json: bool,
    ) {
        let text = parts.concat();
        let source = if in_json { json!([&text, 1]).to_string() } else { text.clone() };
        for counter in counters() {
            let excerpt = Excerpt::of(&source, limit, false, &*counter);
            if excerpt.text == source || !excerpt.text.contains("left out") {
                continue;
            }
            let short = match in_json {
                true => parsed(&excerpt.text)[0].as_str().unwrap().to_owned(),
                false => excerpt.text,
            };
            let (head, rest) = short.split_once("[…").unwrap_or((&short, ""));
            let end = rest.rsplit_once("…]").map_or("", |(_, end)| end);
            let known: std::collections::HashSet<&str> = text.graphemes(true).collect();
            for piece in [head, end] {
                let shown = piece.trim_matches([' ', '\n', '\r']).graphemes(true);
                let allowed = [" ", "\n", "\r\n", "…", "[", "]", "0", "m", "\u{1b}"];
                for grapheme in shown {
                    let is_known = known.contains(grapheme) || allowed.contains(&grapheme);
                    prop_assert!(is_known, "{grapheme:?} in {short:?}");
                }
                let mut left = piece.replace("\u{1b}[1;31m", "").replace("\u{1b}[0m", "");
                left.retain(|c| c == '\u{1b}' || c == ';');
                prop_assert_eq!(left, "", "{:?}", &short);
            }
            let open = head.rfind("\u{1b}[1").unwrap_or(0);
            prop_assert!(head.rfind("\u{1b}[0m").unwrap_or(0) >= open, "{head:?}");
        }
    }

    #[test]
    fn lines_stay_whole(
        lines in prop::collection::vec("[a-z|,]{1,9}( [a-z0-9|,]{1,9}){0,5}|error: [a-z]{1,20}", 60..200),
        limit in 120_i64..400,
    ) {
        let text = lines.join("\n");
        let short = excerpt(&text, limit);
        prop_assert!(short.starts_with(&*lines[0]) && short.ends_with(&lines[lines.len() - 1]));
        for line in short.lines() {
            let is_note = line == "…" || line.starts_with("[… ") && line.ends_with(" …]");
            prop_assert!(is_note || lines.iter().any(|whole| whole == line), "{}", line);
        }
    }
}

#[test]
fn a_list_keeps_its_ends_and_says_how_much_is_missing() {
    let order = |n: usize| json!({"order_id": format!("W-{n}"), "total": n, "open": n % 2 == 0});
    let list: Vec<Value> = (0..500).map(order).collect();
    let text = json!({"page": 1, "orders": list, "next": null}).to_string();
    let short = parsed(&excerpt(&text, 300));
    assert_eq!((&short["page"], &short["next"]), (&json!(1), &Value::Null));
    let shown = short["orders"].as_array().unwrap();
    assert_eq!((&shown[0], &shown[shown.len() - 1]), (&order(0), &order(499)));
    let note = shown.iter().find_map(Value::as_str).unwrap();
    let missing: usize = note.trim_start_matches("[… ").split(' ').next().unwrap().parse().unwrap();
    assert_eq!(missing + shown.len() - 1, 500, "{note}");
    // What a later call may ask for is named.
    assert!(note.contains(&format!("(W-{}, ", shown.iter().position(Value::is_string).unwrap())));
}

#[test]
fn only_what_is_long_is_cut_in_a_record() {
    let body = "All work and no play. ".repeat(400);
    let text = json!({"id": "m-1", "to": "ada", "body": body, "size": 8800}).to_string();
    let short = parsed(&excerpt(&text, 100));
    assert_eq!(
        (&short["id"], &short["to"], &short["size"]),
        (&json!("m-1"), &json!("ada"), &json!(8800))
    );
    let body = short["body"].as_str().unwrap();
    assert!(body.starts_with("All work") && body.ends_with("no play. "), "{body}");
    assert!(body.contains("tokens left out …]"), "{body}");
}

#[test]
fn json_in_a_string_and_a_log_in_a_string_are_cut_as_such() {
    let rows = json!({"rows": (0..900).collect::<Vec<_>>()}).to_string();
    let log = (0..900)
        .map(|n| if n == 400 { "error: disk full\n".into() } else { format!("step {n}\n") });
    let text =
        json!([{"type": "text", "text": rows}, {"stdout": log.collect::<String>(), "code": 1}]);
    let short = parsed(&excerpt(&text.to_string(), 300));
    let rows = parsed(short[0]["text"].as_str().unwrap());
    assert_eq!((&rows["rows"][0], short[1]["code"].as_i64()), (&json!(0), Some(1)));
    let log = short[1]["stdout"].as_str().unwrap();
    assert!(log.starts_with("step 0\n") && log.ends_with("step 899\n"), "{log}");
    assert!(log.contains("\nerror: disk full\n") && log.contains(" characters …]"), "{log}");
}

#[test]
fn escaped_characters_are_written_as_they_are() {
    let text = format!("[\"{}\"]", "\\u4f60\\u597d\\ud83e\\udd80 ".repeat(900));
    let counter = HeuristicCounter;
    let short = Excerpt::of(&text, 300, false, &counter);
    assert!(short.tokens > 200 && short.text.starts_with("[\"你好🦀 你好🦀 "), "{short:?}");
}

#[test]
fn of_diffs_files_and_first_changes_are_shown() {
    let file = |n: usize| {
        let context = " same\n".repeat(60);
        format!(
            "diff --git a/f{n} b/f{n}\n--- a/f{n}\n+++ b/f{n}\n@@ -{n},9 +1 @@ fn f{n}\n{context}-old {n}\n+new {n}\n"
        )
    };
    let diff: String = (0..20).map(file).collect();
    let short = excerpt(&diff, 500);
    for n in 1..19 {
        assert!(short.contains(&format!("\ndiff --git a/f{n} b/f{n}\n")), "{n}: {short}");
    }
    assert!(short.contains("\n@@ -2,9 +1 @@ fn f2\n…\n-old 2\n+new 2\n"), "{short}");
}

#[test]
fn of_stack_traces_the_first_and_last_frames_are_shown() {
    let noise = |from: usize| (from..from + 400).map(|n| format!("step {n}\n")).collect::<String>();
    let python = |n: usize| format!("  File \"a{n}.py\", line {n}, in f\n    call_{n}()\n");
    let java = |n: usize| format!("\tat a.b.C{n}.run(C{n}.java:{n})\n");
    let frames: [&dyn Fn(usize) -> String; 2] = [&python, &java];
    for frame in frames {
        let trace: String = (0..50).map(frame).collect();
        let text = format!("{}Traceback:\n{trace}ValueError: bad\n{}", noise(0), noise(400));
        let short = excerpt(&text, 400);
        let ends = format!(
            "\nTraceback:\n{}{}…\n{}{}ValueError: bad\n",
            frame(0),
            frame(1),
            frame(48),
            frame(49)
        );
        assert!(short.contains(&ends), "{short}");
    }
}

#[test]
fn of_source_code_definitions_are_shown() {
    let body =
        |n: usize| format!("{}:export function f{n}() {{\n{}", n * 9, "  work();\n".repeat(8));
    let short = excerpt(&(0..30).map(body).collect::<String>(), 300);
    assert!((6..15).all(|n| short.contains(&format!("export function f{n}() {{\n"))), "{short}");
}

#[test]
fn a_short_note_is_better_than_none() {
    let (text, list) = ("word ".repeat(900), json!((0..900).collect::<Vec<_>>()).to_string());
    for limit in 1..60 {
        assert!(!excerpt(&text, limit).trim().is_empty(), "{limit}");
        assert!(parsed(&excerpt(&list, limit)) != json!([]), "{limit}");
    }
    assert_eq!(
        (excerpt(&text, 1), excerpt(&list, 1), excerpt(&list, 2)),
        ("[…]".into(), "\"…\"".into(), "[\"…\"]".into())
    );
    let bytes = cupel::tokens::counter_fn("bytes", |text: &str| text.len() as i64);
    let of = |limit: i64| Excerpt::of(&text, limit, true, &bytes).text;
    assert_eq!([of(2), of(3), of(5)], ["", "…", "[…]"]);
    assert_eq!(of(50), "[… 4,500 of 4,500 tokens left out …]");
}

#[test]
fn attacks_are_cut_in_bounded_stack_and_keep_their_shape() {
    let n = 100_000;
    let shapes = [
        "x".repeat(n),
        "\n".repeat(n),
        "1".repeat(n),
        format!("{}{}", "[".repeat(n), "]".repeat(n)),
        format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n)),
        "[".repeat(n),
        format!("[{}]", "1,".repeat(n)),
        format!("[1,{}2]", " ".repeat(n)),
        format!("[1{}]", ",[]".repeat(n)),
        format!("{{\"{}\":1}}", "k".repeat(n)),
        format!("[\"{}\"]", "\\\\".repeat(n)),
        format!("[\"{}\"]", "\\ud83d\\ude00".repeat(n)),
        format!("[\"{}\"]", "\\ud83d".repeat(n)),
        format!("a{}", "\u{301}".repeat(n)),
        "\u{1f1e9}\u{1f1ea}".repeat(n),
        "\u{1b}]0;".repeat(n),
        "\u{1b}[".repeat(n),
    ];
    for (number, text) in shapes.iter().enumerate() {
        let is_json = !matches!(number, 0 | 1 | 5 | 6 | 13..);
        for limit in [3, 40, 1_000] {
            let short = excerpt(text, limit);
            assert!(!is_json || serde_json::from_str::<Value>(&short).is_ok(), "{number}: {short}");
        }
    }
}
