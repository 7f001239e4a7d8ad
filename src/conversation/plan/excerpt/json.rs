//! Excerpts of JSON that are JSON again: long lists and objects by their first and last children, long
//! strings by their ends, and a note where something is missing.

use std::collections::VecDeque;

use super::mark::{Notes, number_of};
use super::scan::{DEEPEST, Json, JsonChild, Span};
use super::telling::TellingLines;
use super::{lines, string};

/// Strings in strings that are JSON again.
const DEEPEST_STRING: usize = 3;
/// About as long as a note that is not the first, with quotes.
const STRING_NOTE: usize = 40;
/// A value that is cut is not made shorter, or little but its note would be left.
const LEAST: usize = 120;
/// Unless it is one of few beside many short ones, which tell more.
const LEAST_OF_FEW: usize = 32;
/// About as long as a note that is not the first.
const NOTE: usize = 18;
/// Longer keys, and longer white space, are cut.
const LONGEST_KEY: usize = 200;
/// Longer names are texts.
const LONGEST_NAME: usize = 40;
/// Ends of keys whose values are names, and how many members are looked at for them.
const NAMES: [&str; 8] = ["id", "name", "number", "key", "path", "url", "title", "code"];
const MEMBERS: usize = 12;

/// Writes about so many bytes of a JSON text. `depth` counts the strings that it is in.
pub(super) fn write(json: &Json<'_>, bytes: usize, depth: usize, notes: &mut Notes<'_>) -> String {
    let mut writer = Writer { json, depth, notes, out: String::with_capacity(bytes + 128) };
    writer.value(&json.root, bytes, 0);
    writer.out
}

/// Nothing but a note, in the shape that a text has.
pub(super) fn note(json: &Json<'_>, note: &str) -> String {
    match json.get(&json.root).as_bytes().first() {
        Some(b'{') => format!("{{\"…\":\"{note}\"}}"),
        Some(b'[') => format!("[\"{note}\"]"),
        _ => format!("\"{note}\""),
    }
}

struct Writer<'a, 'n> {
    json: &'a Json<'a>,
    depth: usize,
    notes: &'a mut Notes<'n>,
    out: String,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &Span, room: usize, level: usize) {
        let text = self.json.get(value);
        match text.as_bytes().first() {
            _ if text.len() <= room => self.out.push_str(text),
            Some(b'{' | b'[') => self.parent(value, room.saturating_sub(2), level),
            // A string, or a number of many digits.
            _ => write_string(&mut self.out, unquoted(text), room, self.depth, self.notes),
        }
    }

    fn parent(&mut self, parent: &Span, room: usize, level: usize) {
        let json = self.json;
        let is_object = json.get(parent).starts_with('{');
        self.out.push(if is_object { '{' } else { '[' });
        if level == DEEPEST || room < NOTE * 2 {
            let children = json.children(parent).count();
            self.note(is_object, &number_of(children, "more"));
        } else if let Some(most) = self.share_of_each(parent, room) {
            for (number, child) in json.children(parent).enumerate() {
                self.child(number, &child, most, level);
            }
        } else {
            self.ends(parent, is_object, room, level);
        }
        self.out.push(if is_object { '}' } else { ']' });
    }

    /// The most that a child may take if all are shown; none if that is too little.
    fn share_of_each(&self, parent: &Span, room: usize) -> Option<usize> {
        let mut sizes = Vec::new();
        for child in self.json.children(parent) {
            sizes.push(child.whole.len() + 1);
            if sizes.len() > room / 4 {
                return None;
            }
        }
        sizes.sort_unstable();
        let short = sizes.partition_point(|size| *size <= LEAST);
        let least = match sizes.len() {
            all if short * 2 >= all => LEAST_OF_FEW,
            0..=4 => LEAST,
            // Some of many that are alike, whole, tell more than a part of each.
            all => sizes.get(all / 2).map_or(LEAST, |median| LEAST.max(*median)),
        };
        let mut left = room;
        for (number, size) in sizes.iter().enumerate() {
            let share = left / (sizes.len() - number);
            if *size > share {
                return (share >= least).then_some(share);
            }
            left -= size;
        }
        Some(room)
    }

    /// The first and the last children, and between them how many more there are, and their names.
    fn ends(&mut self, parent: &Span, is_object: bool, room: usize, level: usize) {
        let json = self.json;
        let room = room.saturating_sub(if self.notes.is_unused() { 0 } else { NOTE });
        // One of them fits at each end.
        let most = (room / 4).max(LEAST).min(room / 5 * 2).saturating_sub(1);
        let names_at_most = json.children(parent).next().map_or(0, |first| {
            // About as many names as children are left out, if they are all like the first.
            let left_out = parent.len().saturating_sub(room) / first.whole.len().max(1) + 1;
            let name = name(json, &first).map_or(0, |name| name.len() + 2);
            left_out.saturating_mul(name).min(room / 5)
        });
        let first_at_most = (room - names_at_most) / 5 * 3;
        let mut left = room - names_at_most;
        let (mut first, mut all) = (0, 0);
        let (mut last, mut last_bytes) = (VecDeque::new(), 0);
        let mut names = String::new();
        for child in json.children(parent) {
            let cost = child.whole.len().min(most) + 1;
            if all == first && room - names_at_most - left + cost <= first_at_most {
                self.child(first, &child, most, level);
                left -= cost;
                first += 1;
            } else {
                last_bytes += cost;
                last.push_back((cost, child));
            }
            all += 1;
            while last_bytes > left {
                let Some((cost, child)) = last.pop_front() else { break };
                last_bytes -= cost;
                let name = name(json, &child).unwrap_or_default();
                if !name.is_empty() && names.len() + name.len() + 2 <= names_at_most {
                    names.push_str(if names.is_empty() { "" } else { ", " });
                    names.push_str(name);
                }
            }
        }
        let more = all - first - last.len();
        if more > 0 {
            self.separate(first);
            let mut missing = number_of(more, "more");
            if !names.is_empty() {
                missing.push_str(&format!(" ({names})"));
            }
            self.note(is_object, &missing);
        }
        let before = first + usize::from(more > 0);
        for (number, (_, child)) in last.iter().enumerate() {
            self.child(before + number, child, most, level);
        }
    }

    /// A child and the comma before it.
    fn child(&mut self, number: usize, child: &JsonChild, room: usize, level: usize) {
        self.separate(number);
        let before = child.whole.start..child.value.start;
        let used = self.out.len();
        let most = LONGEST_KEY.min(room / 2);
        if before.len() <= most {
            self.out.push_str(self.json.get(&before));
        } else if let Some(key) = &child.key {
            let key = self.json.get(key);
            match key.len() <= most {
                true => self.out.push_str(key),
                false => {
                    write_string(&mut self.out, unquoted(key), most, self.depth, self.notes);
                }
            }
            self.out.push(':');
        }
        let used = self.out.len() - used;
        self.value(&child.value, room.saturating_sub(used), level + 1);
    }

    fn separate(&mut self, number: usize) {
        if number > 0 {
            self.out.push(',');
        }
    }

    fn note(&mut self, is_object: bool, missing: &str) {
        let is_first = self.notes.is_unused();
        let note = if is_first { self.notes.next(missing) } else { missing.to_owned() };
        self.out.push_str(match (is_object, is_first) {
            (true, _) => "\"…\":\"",
            (false, true) => "\"",
            (false, false) => "\"… ",
        });
        self.out.push_str(&note);
        self.out.push_str(if is_object || is_first { "\"" } else { " …\"" });
    }
}

/// The name by which a later call may ask for a child: its key, or what an object in a list is called.
fn name<'a>(json: &Json<'a>, child: &JsonChild) -> Option<&'a str> {
    let is_parent = |value: &Span| json.get(value).starts_with(['{', '[']);
    let is_short = |value: &Span| value.len() <= LONGEST_NAME && !is_parent(value);
    let name = match &child.key {
        Some(key) => Some(key.clone()).filter(|key| is_short(key) && is_parent(&child.value)),
        None if json.get(&child.value).starts_with('{') => {
            let members =
                || json.children(&child.value).take(MEMBERS).filter(|m| is_short(&m.value));
            let is_called = |member: &JsonChild| {
                let key =
                    member.key.as_ref().map(|key| unquoted(json.get(key))).unwrap_or_default();
                NAMES.iter().any(|name| key.to_ascii_lowercase().ends_with(name))
            };
            let called = members().find(is_called).or_else(|| members().next());
            called.map(|member| member.value)
        }
        None => None,
    };
    name.map(|name| unquoted(json.get(&name)))
}

/// The inner bytes of a string; all of a number.
fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Writes about so many bytes of a string whose inner bytes are given: as the text, or the JSON, that
/// it is.
fn write_string(out: &mut String, raw: &str, room: usize, depth: usize, notes: &mut Notes<'_>) {
    let note = if notes.is_unused() { 2 } else { STRING_NOTE };
    let text = string::read(raw);
    let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
    let share = text.len() as f64 / (text.len() + escaped).max(1) as f64;
    let bytes = (room.saturating_sub(note) as f64 * share) as usize;
    let inner = match depth < DEEPEST_STRING && text.starts_with(['{', '[']) {
        true => Json::parse(&text),
        false => None,
    };
    let short = match inner {
        _ if bytes == 0 && !notes.is_unused() => "…".to_owned(),
        Some(inner) => write(&inner, bytes, depth + 1, notes),
        None => lines::write(&TellingLines::new(&text, bytes), bytes, notes),
    };
    string::write(out, &short);
}
