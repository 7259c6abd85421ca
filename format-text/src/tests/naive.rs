//! Naive parser of Hive's text format: whole files, byte by byte, directly to values.

use vector::{Type, Value};

use crate::values::parse_scalar;

/// The properties of a dialect that the random tests vary.
pub(super) struct Plain {
    pub(super) separators: [u8; 8],
    pub(super) escape: Option<u8>,
    pub(super) null: &'static [u8],
}

impl Plain {
    pub(super) fn rows(&self, bytes: &[u8], types: &[Type]) -> Vec<Vec<Value>> {
        let lines = lines(bytes);
        lines.iter().map(|line| self.fields(line, types, 0)).collect()
    }

    fn fields(&self, text: &[u8], types: &[Type], level: usize) -> Vec<Value> {
        let texts = self.cut(text, self.separators[level]);
        let value = |(i, ty): (usize, &Type)| match texts.get(i) {
            Some(text) => self.value(text, ty, level + 1),
            None => null_of(ty),
        };
        types.iter().enumerate().map(value).collect()
    }

    fn value(&self, text: &[u8], ty: &Type, level: usize) -> Value {
        if text == self.null {
            return Value::Null;
        }
        match ty {
            Type::Varchar => Value::bytes(self.without_escapes(text)),
            Type::Array(_) | Type::Map(..) if text.is_empty() => match ty {
                Type::Array(_) => Value::Array([].into()),
                _ => Value::Map([].into()),
            },
            Type::Array(element) => {
                let texts = self.cut(text, self.separators[level]);
                Value::Array(texts.iter().map(|t| self.value(t, element, level + 1)).collect())
            }
            Type::Map(key, value) => {
                let mut seen: Vec<Vec<u8>> = Vec::new();
                let mut entries = Vec::new();
                for entry in self.cut(text, self.separators[level]) {
                    let mut texts = self.cut(&entry, self.separators[level + 1]).into_iter();
                    let key_text = texts.next().unwrap();
                    let has_value = key_text.len() < entry.len();
                    let name = self.value(&key_text, key, level + 2);
                    if name.is_null() || seen.contains(&key_text) {
                        continue;
                    }
                    let rest = entry.get(key_text.len() + 1..).unwrap_or_default();
                    let value = match has_value {
                        true => self.value(rest, value, level + 2),
                        false => Value::Null,
                    };
                    seen.push(key_text);
                    entries.push((name, value));
                }
                Value::Map(entries.into())
            }
            Type::Row(row) => Value::Row(self.fields(text, row.types(), level).into()),
            ty => parse_scalar(text, ty).unwrap_or(Value::Null),
        }
    }

    fn cut(&self, text: &[u8], separator: u8) -> Vec<Vec<u8>> {
        let mut pieces = vec![Vec::new()];
        let mut is_escaped = false;
        for byte in text {
            if *byte == separator && !is_escaped && self.escape != Some(separator) {
                pieces.push(Vec::new());
                continue;
            }
            is_escaped = !is_escaped && self.escape == Some(*byte);
            pieces.last_mut().unwrap().push(*byte);
        }
        pieces
    }

    fn without_escapes(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut is_escaped = false;
        for byte in text {
            if !is_escaped && self.escape == Some(*byte) {
                is_escaped = true;
            } else {
                out.push(match byte {
                    b'n' if is_escaped => b'\n',
                    b'r' if is_escaped => b'\r',
                    byte => *byte,
                });
                is_escaped = false;
            }
        }
        if is_escaped {
            out.extend(self.escape);
        }
        out
    }
}

fn null_of(_: &Type) -> Value {
    Value::Null
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'\n' => lines.push(std::mem::take(&mut line)),
            b'\r' => {
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
                lines.push(std::mem::take(&mut line));
            }
            byte => {
                line.push(*byte);
                if rest.is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
            }
        }
    }
    lines
}
