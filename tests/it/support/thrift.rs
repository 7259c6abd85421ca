//! Structs of Thrift's compact protocol as trees of values, which are changed and written again.

/// A value of the compact protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    Bool(bool),
    /// An integer and the type nibble of its width: 3 to 6 for 8 to 64 bits.
    Int(u8, i64),
    Double([u8; 8]),
    Binary(Vec<u8>),
    /// The type nibble of the elements, and the elements.
    List(u8, Vec<Tree>),
    /// Field ids in ascending order, and their values.
    Struct(Vec<(i16, Tree)>),
}

const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Tree {
    /// Parses the struct at the beginning of `bytes`; also returns its number of bytes.
    ///
    /// # Panics
    ///
    /// When the bytes are not a struct: the tests parse only the output of a writer.
    pub(crate) fn parse(bytes: &[u8]) -> (Tree, usize) {
        let mut at = 0;
        let tree = read(bytes, &mut at, STRUCT);
        (tree, at)
    }

    /// Returns the value in the compact protocol.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Returns the value of a field of this struct.
    pub(crate) fn field(&self, id: i16) -> Option<&Tree> {
        let Tree::Struct(fields) = self else { return None };
        fields.iter().find(|(field, _)| *field == id).map(|(_, value)| value)
    }

    /// Returns the value of a field of this struct, for changes.
    pub(crate) fn field_mut(&mut self, id: i16) -> Option<&mut Tree> {
        let Tree::Struct(fields) = self else { return None };
        fields.iter_mut().find(|(field, _)| *field == id).map(|(_, value)| value)
    }

    /// Returns the integer in a field of this struct.
    pub(crate) fn int(&self, id: i16) -> Option<i64> {
        match self.field(id)? {
            Tree::Int(_, value) => Some(*value),
            _ => None,
        }
    }

    /// Sets an integer field, if the struct has it.
    pub(crate) fn set_int(&mut self, id: i16, to: i64) {
        if let Some(Tree::Int(_, value)) = self.field_mut(id) {
            *value = to;
        }
    }

    /// Adds a field to this struct, replacing one with the same id.
    pub(crate) fn put(&mut self, id: i16, value: Tree) {
        let Tree::Struct(fields) = self else { panic!("{self:?} has no fields") };
        fields.retain(|(field, _)| *field != id);
        let at = fields.partition_point(|(field, _)| *field < id);
        fields.insert(at, (id, value));
    }

    /// Removes fields from this struct.
    pub(crate) fn remove(&mut self, ids: &[i16]) {
        if let Tree::Struct(fields) = self {
            fields.retain(|(field, _)| !ids.contains(field));
        }
    }

    /// Returns the elements of a list.
    pub(crate) fn items(&self) -> &[Tree] {
        match self {
            Tree::List(_, items) => items,
            _ => &[],
        }
    }

    /// Returns the elements of a list, for changes.
    pub(crate) fn items_mut(&mut self) -> &mut [Tree] {
        match self {
            Tree::List(_, items) => items,
            _ => &mut [],
        }
    }

    /// Returns the value at the end of `path`, which has positions in structs and lists.
    pub(crate) fn at_mut(&mut self, path: &[usize]) -> &mut Tree {
        let Some((first, rest)) = path.split_first() else { return self };
        match self {
            Tree::Struct(fields) => fields[*first].1.at_mut(rest),
            Tree::List(_, items) => items[*first].at_mut(rest),
            _ => panic!("{self:?} has no parts"),
        }
    }

    /// Calls `found` for each integer with its path and its name: field ids and `[]` for elements,
    /// separated by points.
    pub(crate) fn integers(&self, found: &mut impl FnMut(&[usize], &str)) {
        self.integers_below(&mut Vec::new(), "", found);
    }

    fn integers_below(
        &self,
        path: &mut Vec<usize>,
        name: &str,
        found: &mut impl FnMut(&[usize], &str),
    ) {
        let join =
            |part: &str| if name.is_empty() { part.into() } else { format!("{name}.{part}") };
        match self {
            Tree::Int(..) => found(path, name),
            Tree::Struct(fields) => {
                for (i, (id, value)) in fields.iter().enumerate() {
                    path.push(i);
                    value.integers_below(path, &join(&id.to_string()), found);
                    path.pop();
                }
            }
            Tree::List(_, items) => {
                for (i, value) in items.iter().enumerate() {
                    path.push(i);
                    value.integers_below(path, &join("[]"), found);
                    path.pop();
                }
            }
            Tree::Bool(_) | Tree::Double(_) | Tree::Binary(_) => {}
        }
    }

    fn nibble(&self) -> u8 {
        match self {
            Tree::Bool(true) => 1,
            Tree::Bool(false) => 2,
            Tree::Int(nibble, _) => *nibble,
            Tree::Double(_) => 7,
            Tree::Binary(_) => BINARY,
            Tree::List(..) => LIST,
            Tree::Struct(_) => STRUCT,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Tree::Bool(value) => out.push(if *value { 1 } else { 2 }),
            Tree::Int(3, value) => out.push(*value as u8),
            Tree::Int(_, value) => varint(out, (value << 1 ^ value >> 63).cast_unsigned()),
            Tree::Double(bytes) => out.extend(bytes),
            Tree::Binary(bytes) => {
                varint(out, bytes.len() as u64);
                out.extend(bytes);
            }
            Tree::List(element, items) => {
                if items.len() < 15 {
                    out.push((items.len() as u8) << 4 | element);
                } else {
                    out.push(0xf0 | element);
                    varint(out, items.len() as u64);
                }
                items.iter().for_each(|item| item.write(out));
            }
            Tree::Struct(fields) => {
                let mut last = 0;
                for (id, value) in fields {
                    let delta = id - last;
                    assert!((1..16).contains(&delta), "field {id} stands behind {last}");
                    out.push((delta as u8) << 4 | value.nibble());
                    // The value of a boolean field is encoded in its type.
                    if !matches!(value, Tree::Bool(_)) {
                        value.write(out);
                    }
                    last = *id;
                }
                out.push(0);
            }
        }
    }
}

fn read(bytes: &[u8], at: &mut usize, nibble: u8) -> Tree {
    match nibble {
        1 | 2 => {
            *at += 1;
            Tree::Bool(bytes[*at - 1] == 1)
        }
        3 => {
            *at += 1;
            Tree::Int(3, i64::from(bytes[*at - 1].cast_signed()))
        }
        4..=6 => {
            let raw = read_varint(bytes, at);
            Tree::Int(nibble, (raw >> 1).cast_signed() ^ (raw & 1).cast_signed().wrapping_neg())
        }
        7 => {
            *at += 8;
            Tree::Double(bytes[*at - 8..*at].try_into().unwrap())
        }
        BINARY => {
            let len = read_varint(bytes, at) as usize;
            *at += len;
            Tree::Binary(bytes[*at - len..*at].to_vec())
        }
        LIST => {
            let head = bytes[*at];
            *at += 1;
            let len = if head >> 4 == 15 { read_varint(bytes, at) } else { u64::from(head >> 4) };
            Tree::List(head & 15, (0..len).map(|_| read(bytes, at, head & 15)).collect())
        }
        STRUCT => {
            let (mut fields, mut last) = (Vec::new(), 0);
            loop {
                let head = bytes[*at];
                *at += 1;
                if head == 0 {
                    return Tree::Struct(fields);
                }
                assert!(head >> 4 > 0, "a field number in full");
                last += i16::from(head >> 4);
                let value = match head & 15 {
                    1 => Tree::Bool(true),
                    2 => Tree::Bool(false),
                    nibble => read(bytes, at, nibble),
                };
                fields.push((last, value));
            }
        }
        _ => panic!("type {nibble} at {at}"),
    }
}

fn read_varint(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[test]
fn a_tree_is_written_as_it_was_read_and_its_integers_have_names() {
    // A data page header: type 0, sizes 10, five values and a boolean after them.
    let bytes = [
        0x15, 0x00, 0x15, 0x14, 0x15, 0x14, 0x2c, 0x15, 0x0a, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06,
        0x00, 0x11, 0x00, 0xff,
    ];
    let (mut tree, len) = Tree::parse(&bytes);
    assert_eq!((len, tree.bytes()), (18, bytes[..18].to_vec()));
    let mut names = Vec::new();
    tree.integers(&mut |path, name| names.push((path.to_vec(), name.to_string())));
    assert_eq!(names[3], (vec![3, 0], "5.1".to_string()));
    assert_eq!(names.len(), 7);
    *tree.at_mut(&[3, 0]) = Tree::Int(5, i64::from(i32::MAX));
    let (again, _) = Tree::parse(&tree.bytes());
    assert_eq!(again.field(5).unwrap().int(1), Some(i64::from(i32::MAX)));
    tree.put(4, Tree::Int(5, -1));
    tree.remove(&[5, 6]);
    assert_eq!(tree.bytes(), [0x15, 0x00, 0x15, 0x14, 0x15, 0x14, 0x15, 0x01, 0x00]);
}
