//! The structs and enums of the footer and of page headers, as plain Rust.
//!
//! Counts, sizes and offsets are unsigned here: the parsers check the sign once. An enum value that
//! we do not know is kept as its number (`Unknown`), so that it only hurts whoever needs that
//! column. Structs that belong to statistics and page indexes are in their own files.
//!
//! ```text
//! FileMetaData
//!   schema        SchemaElement ...                depth first, element 0 is the root
//!   row_groups    RowGroup ...
//!     columns       ColumnChunk ...                one for each leaf
//!       meta          ColumnMetaData -> Statistics, SizeStatistics, PageEncodingStats
//! PageHeader -> DataPageHeader | DataPageHeaderV2 | DictionaryPageHeader
//! ```

use std::fmt;
use std::ops::Range;

use vector::{Error, Result, TimeUnit};

use super::chunks::ColumnChunks;
use crate::statistics::{SizeStatistics, Statistics};

/// An enum of the format whose unknown values are kept.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum $name {
            $($variant,)*
            /// A number that this version does not know.
            Unknown(i32),
        }

        impl From<i32> for $name {
            fn from(number: i32) -> Self {
                match number {
                    $($number => $name::$variant,)*
                    other => $name::Unknown(other),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($name::$variant => f.write_str($text),)*
                    $name::Unknown(number) => write!(f, "?{number}"),
                }
            }
        }
    };
}

open_enum! {
    /// How the values of a page are written.
    Encoding {
        Plain = 0 "PLAIN",
        PlainDictionary = 2 "PLAIN_DICTIONARY",
        Rle = 3 "RLE",
        BitPacked = 4 "BIT_PACKED",
        DeltaBinaryPacked = 5 "DELTA_BINARY_PACKED",
        DeltaLengthByteArray = 6 "DELTA_LENGTH_BYTE_ARRAY",
        DeltaByteArray = 7 "DELTA_BYTE_ARRAY",
        RleDictionary = 8 "RLE_DICTIONARY",
        ByteStreamSplit = 9 "BYTE_STREAM_SPLIT",
        Alp = 10 "ALP",
    }
}

open_enum! {
    /// How pages are compressed.
    Codec {
        Uncompressed = 0 "UNCOMPRESSED",
        Snappy = 1 "SNAPPY",
        Gzip = 2 "GZIP",
        Lzo = 3 "LZO",
        Brotli = 4 "BROTLI",
        Lz4 = 5 "LZ4",
        Zstd = 6 "ZSTD",
        Lz4Raw = 7 "LZ4_RAW",
    }
}

open_enum! {
    /// The kind of a page.
    PageType {
        Data = 0 "DATA_PAGE",
        Index = 1 "INDEX_PAGE",
        Dictionary = 2 "DICTIONARY_PAGE",
        DataV2 = 3 "DATA_PAGE_V2",
    }
}

open_enum! {
    /// The older annotation of a schema element.
    ConvertedType {
        Utf8 = 0 "UTF8",
        Map = 1 "MAP",
        MapKeyValue = 2 "MAP_KEY_VALUE",
        List = 3 "LIST",
        Enum = 4 "ENUM",
        Decimal = 5 "DECIMAL",
        Date = 6 "DATE",
        TimeMillis = 7 "TIME_MILLIS",
        TimeMicros = 8 "TIME_MICROS",
        TimestampMillis = 9 "TIMESTAMP_MILLIS",
        TimestampMicros = 10 "TIMESTAMP_MICROS",
        Uint8 = 11 "UINT_8",
        Uint16 = 12 "UINT_16",
        Uint32 = 13 "UINT_32",
        Uint64 = 14 "UINT_64",
        Int8 = 15 "INT_8",
        Int16 = 16 "INT_16",
        Int32 = 17 "INT_32",
        Int64 = 18 "INT_64",
        Json = 19 "JSON",
        Bson = 20 "BSON",
        Interval = 21 "INTERVAL",
    }
}

/// How values are stored; the schema cannot be read without knowing it, so there is no unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum PhysicalType {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    ByteArray,
    FixedLenByteArray,
}

impl PhysicalType {
    /// The name that the format uses.
    pub fn as_str(self) -> &'static str {
        match self {
            PhysicalType::Boolean => "BOOLEAN",
            PhysicalType::Int32 => "INT32",
            PhysicalType::Int64 => "INT64",
            PhysicalType::Int96 => "INT96",
            PhysicalType::Float => "FLOAT",
            PhysicalType::Double => "DOUBLE",
            PhysicalType::ByteArray => "BYTE_ARRAY",
            PhysicalType::FixedLenByteArray => "FIXED_LEN_BYTE_ARRAY",
        }
    }
}

impl TryFrom<i32> for PhysicalType {
    type Error = Error;

    fn try_from(number: i32) -> Result<Self> {
        Ok(match number {
            0 => PhysicalType::Boolean,
            1 => PhysicalType::Int32,
            2 => PhysicalType::Int64,
            3 => PhysicalType::Int96,
            4 => PhysicalType::Float,
            5 => PhysicalType::Double,
            6 => PhysicalType::ByteArray,
            7 => PhysicalType::FixedLenByteArray,
            found => {
                return Err(Error::corrupt("unknown physical type")
                    .with("expected", "0 to 7")
                    .with("found", found));
            }
        })
    }
}

impl fmt::Display for PhysicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How often a field occurs in its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repetition {
    /// Exactly once.
    Required,
    /// Once or not at all.
    Optional,
    /// Any number of times.
    Repeated,
}

impl Repetition {
    /// The name that the format uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Repetition::Required => "REQUIRED",
            Repetition::Optional => "OPTIONAL",
            Repetition::Repeated => "REPEATED",
        }
    }
}

impl TryFrom<i32> for Repetition {
    type Error = Error;

    fn try_from(number: i32) -> Result<Self> {
        Ok(match number {
            0 => Repetition::Required,
            1 => Repetition::Optional,
            2 => Repetition::Repeated,
            found => {
                return Err(Error::corrupt("unknown repetition type")
                    .with("expected", "0 to 2")
                    .with("found", found));
            }
        })
    }
}

/// The annotation of a schema element.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LogicalType {
    String,
    Map,
    List,
    Enum,
    /// Digits behind the point, and all digits, both as stored.
    Decimal {
        scale: i32,
        precision: i32,
    },
    Date,
    /// A time of day; `unit` is `None` when we do not know it.
    Time {
        is_adjusted_to_utc: bool,
        unit: Option<TimeUnit>,
    },
    /// A point in time; `unit` is `None` when we do not know it.
    Timestamp {
        is_adjusted_to_utc: bool,
        unit: Option<TimeUnit>,
    },
    Integer {
        bit_width: i8,
        is_signed: bool,
    },
    /// The type of a column that is null everywhere; the format calls it UNKNOWN.
    Null,
    Json,
    Bson,
    Uuid,
    Float16,
    /// Exists as the older annotation only.
    Interval,
    Variant {
        specification_version: Option<i8>,
    },
    Geometry {
        crs: Option<String>,
    },
    Geography {
        crs: Option<String>,
        algorithm: Option<i32>,
    },
    File,
    /// A member of the union that this version does not know, by its field number.
    Unrecognized(i16),
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = |unit: &Option<TimeUnit>| match unit {
            Some(TimeUnit::Millis) => "MILLIS",
            Some(TimeUnit::Micros) => "MICROS",
            Some(TimeUnit::Nanos) => "NANOS",
            None => "?",
        };
        match self {
            LogicalType::String => f.write_str("STRING"),
            LogicalType::Map => f.write_str("MAP"),
            LogicalType::List => f.write_str("LIST"),
            LogicalType::Enum => f.write_str("ENUM"),
            LogicalType::Decimal { scale, precision } => write!(f, "DECIMAL({precision},{scale})"),
            LogicalType::Date => f.write_str("DATE"),
            LogicalType::Time { is_adjusted_to_utc, unit: u } => {
                write!(f, "TIME({},{is_adjusted_to_utc})", unit(u))
            }
            LogicalType::Timestamp { is_adjusted_to_utc, unit: u } => {
                write!(f, "TIMESTAMP({},{is_adjusted_to_utc})", unit(u))
            }
            LogicalType::Integer { bit_width, is_signed } => {
                write!(f, "INTEGER({bit_width},{is_signed})")
            }
            LogicalType::Null => f.write_str("UNKNOWN"),
            LogicalType::Json => f.write_str("JSON"),
            LogicalType::Bson => f.write_str("BSON"),
            LogicalType::Uuid => f.write_str("UUID"),
            LogicalType::Float16 => f.write_str("FLOAT16"),
            LogicalType::Interval => f.write_str("INTERVAL"),
            LogicalType::Variant { .. } => f.write_str("VARIANT"),
            LogicalType::Geometry { .. } => f.write_str("GEOMETRY"),
            LogicalType::Geography { .. } => f.write_str("GEOGRAPHY"),
            LogicalType::File => f.write_str("FILE"),
            LogicalType::Unrecognized(member) => write!(f, "?{member}"),
        }
    }
}

/// One node of the schema, in depth-first order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaElement {
    /// The field's name.
    pub name: String,
    /// The storage of a leaf; `None` for a group.
    pub physical: Option<PhysicalType>,
    /// The width of a FIXED_LEN_BYTE_ARRAY.
    pub type_length: Option<i32>,
    /// `None` for the root, and with careless writers elsewhere.
    pub repetition: Option<Repetition>,
    /// The children of a group.
    pub num_children: Option<i32>,
    /// The older annotation.
    pub converted: Option<ConvertedType>,
    /// Digits behind the point, beside an older DECIMAL annotation.
    pub scale: Option<i32>,
    /// All digits, beside an older DECIMAL annotation.
    pub precision: Option<i32>,
    /// A number that table formats know the field by.
    pub field_id: Option<i32>,
    /// The newer annotation.
    pub logical: Option<LogicalType>,
}

/// The content of the footer.
#[derive(Debug, Clone)]
pub struct FileMetaData {
    /// 1 or 2; it says nothing about how pages are written.
    pub version: i32,
    /// The schema tree in depth-first order.
    pub schema: Vec<SchemaElement>,
    /// The rows of the file, as its writer counted them.
    pub num_rows: u64,
    /// The row groups in file order.
    pub row_groups: Vec<RowGroup>,
    /// Free text of the writer.
    pub key_value_metadata: Vec<KeyValue>,
    /// The writing program.
    pub created_by: Option<String>,
    /// How each leaf's bounds are ordered; `None` when the file does not say.
    pub column_orders: Option<Vec<ColumnOrder>>,
    /// Set when columns are encrypted under a footer that is not.
    pub encryption: Option<EncryptionAlgorithm>,
    /// Names the key that signs the footer.
    pub footer_signing_key_metadata: Option<Vec<u8>>,
}

/// Some rows of the file, all columns.
#[derive(Debug, Clone)]
pub struct RowGroup {
    /// One chunk for each leaf, in schema order.
    pub columns: ColumnChunks,
    /// Bytes of all chunks before compression; a hint, negative values read as 0.
    pub total_uncompressed_bytes: u64,
    /// The rows of this group.
    pub num_rows: u64,
    /// What the rows are sorted by.
    pub sorting_columns: Vec<SortingColumn>,
    /// Often missing, zero or wrong; a hint.
    pub file_offset: Option<u64>,
    /// Often missing; a hint.
    pub total_compressed_bytes: Option<u64>,
    /// The group's number, when the file states it.
    pub ordinal: Option<i16>,
}

/// One leaf's values in one row group.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnChunk {
    /// Another file that holds the data; never opened.
    pub file_path: Option<String>,
    /// `None` when it is encrypted; see [`ColumnChunk::meta`].
    pub meta_data: Option<ColumnMetaData>,
    /// Where the offset index is.
    pub offset_index: Option<IndexRegion>,
    /// Where the column index is.
    pub column_index: Option<IndexRegion>,
    /// Set when the column's pages are encrypted.
    pub crypto: Option<ColumnCrypto>,
    /// The metadata, when it is encrypted on its own.
    pub encrypted_meta_data: Option<Vec<u8>>,
    /// The key is known, and `meta_data` is what was encrypted.
    pub is_unlocked: bool,
}

/// The sentence of the error for a column whose key nobody gave.
pub(crate) const COLUMN_IS_LOCKED: &str = "the column is encrypted and its key is not given";

/// Which key a column is encrypted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnCrypto {
    /// The footer's.
    FooterKey,
    /// Its own.
    ColumnKey {
        /// The names from the root to the leaf.
        path: Vec<String>,
        /// What the file says of the key.
        key_metadata: Option<Vec<u8>>,
    },
}

impl ColumnChunk {
    /// The chunk's metadata; an error when the chunk is encrypted, is in another file or has none.
    pub fn meta(&self) -> Result<&ColumnMetaData> {
        if self.crypto.is_some() && !self.is_unlocked {
            return Err(Error::invalid_input(COLUMN_IS_LOCKED));
        }
        if let Some(path) = &self.file_path {
            return Err(
                Error::unsupported("the column's data is in another file").with("file_path", path)
            );
        }
        self.meta_data.as_ref().ok_or_else(|| Error::corrupt("column chunk without metadata"))
    }
}

/// Where an index lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRegion {
    /// First byte.
    pub offset: u64,
    /// Size in bytes; 0 when the file does not say.
    pub bytes: u32,
}

/// How a chunk is written and where its pages are.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMetaData {
    /// How values are stored; must be the schema's.
    pub physical: PhysicalType,
    /// The encodings that occur; a hint.
    pub encodings: Vec<Encoding>,
    /// The names from the root, joined by dots; for people, never for look-up.
    pub path_in_schema: String,
    /// How pages are compressed.
    pub codec: Codec,
    /// Values including nulls; for nested columns the number of levels.
    pub num_values: u64,
    /// Page headers and pages before compression; a hint, negative values read as 0.
    pub total_uncompressed_bytes: u64,
    /// Page headers and pages as they are in the file.
    pub total_compressed_bytes: u64,
    /// Free text of the writer.
    pub key_value_metadata: Vec<KeyValue>,
    /// The first data page.
    pub data_page_offset: u64,
    /// The first index page, which no known writer makes.
    pub index_page_offset: Option<u64>,
    /// The dictionary page; 0 and other nonsense occur, see [`ColumnMetaData::start_offset`].
    pub dictionary_page_offset: Option<u64>,
    /// Bounds and counts, boxed because most readers never look.
    pub statistics: Option<Box<Statistics>>,
    /// Pages by type and encoding.
    pub encoding_stats: Vec<PageEncodingStats>,
    /// The bloom filter.
    pub bloom_filter: Option<IndexRegion>,
    /// Sizes that help to reserve memory.
    pub size_statistics: Option<Box<SizeStatistics>>,
}

impl ColumnMetaData {
    /// The first byte of the chunk: the dictionary page if there is a usable one.
    pub fn start_offset(&self) -> u64 {
        start_of_pages(self.data_page_offset, self.dictionary_page_offset, self.index_page_offset)
    }
}

/// The first of the pages whose offsets are given; of those that need not be there the usable ones.
pub(super) fn start_of_pages(data: u64, dictionary: Option<u64>, index: Option<u64>) -> u64 {
    let others = [dictionary, index].into_iter().flatten().filter(|offset| *offset >= 4);
    others.fold(data, u64::min)
}

/// A pair of free text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// What it is about.
    pub key: String,
    /// May be missing.
    pub value: Option<String>,
}

/// One column that rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortingColumn {
    /// The leaf, by its number.
    pub leaf: i32,
    /// Largest first.
    pub is_descending: bool,
    /// Nulls before values.
    pub is_nulls_first: bool,
}

/// How a leaf's bounds are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnOrder {
    /// By the order of the column's type.
    TypeDefined,
    /// By the total order of IEEE 754.
    Ieee754Total,
    /// INT96 by the point in time.
    Int96Timestamp,
    /// An order this version does not know: bounds of the column say nothing.
    Unknown,
}

/// The pages of one type and encoding in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEncodingStats {
    /// Their type.
    pub page_type: PageType,
    /// Their encoding.
    pub encoding: Encoding,
    /// How many there are.
    pub num_pages: u32,
}

/// How encrypted columns are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionAlgorithm {
    /// True for AES_GCM_CTR_V1, false for AES_GCM_V1.
    pub is_ctr: bool,
    /// The front of the additional authenticated data.
    pub aad_prefix: Option<Vec<u8>>,
    /// The part of it that is this file's own.
    pub aad_file_unique: Option<Vec<u8>>,
    /// The reader has to know the prefix.
    pub supply_aad_prefix: bool,
}

/// What stands in front of an encrypted footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCryptoMetaData {
    /// How the file is encrypted.
    pub algorithm: EncryptionAlgorithm,
    /// What the file says of the footer key.
    pub key_metadata: Option<Vec<u8>>,
}

/// What stands before each page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHeader {
    /// The page's type and what belongs to it.
    pub kind: PageKind,
    /// Size of the page after decompression; the header does not count.
    pub uncompressed_bytes: usize,
    /// Size of the page in the file; the header does not count.
    pub compressed_bytes: usize,
    /// CRC-32 over the page as it is in the file.
    pub crc: Option<u32>,
    /// Where in the header its statistics stand.
    pub statistics: Option<Range<usize>>,
}

/// A page's type with the header that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageKind {
    /// A data page of version 1.
    Data(DataPageHeader),
    /// A data page of version 2.
    DataV2(DataPageHeaderV2),
    /// The dictionary of the chunk.
    Dictionary(DictionaryPageHeader),
    /// An index page, to be passed over.
    Index,
    /// A type that this version does not know, to be passed over.
    Unknown(i32),
}

/// Levels and values, compressed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPageHeader {
    /// Values including nulls; for nested columns the number of levels.
    pub num_values: usize,
    /// How the values are written.
    pub encoding: Encoding,
    /// How the definition levels are written.
    pub definition_encoding: Encoding,
    /// How the repetition levels are written.
    pub repetition_encoding: Encoding,
}

/// Levels uncompressed in front of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPageHeaderV2 {
    /// Values including nulls; for nested columns the number of levels.
    pub num_values: usize,
    /// How many of them are null, as the writer counted.
    pub num_nulls: usize,
    /// The rows that the page has, as the writer counted.
    pub num_rows: usize,
    /// How the values are written.
    pub encoding: Encoding,
    /// Size of the definition levels.
    pub definition_bytes: usize,
    /// Size of the repetition levels, which come first.
    pub repetition_bytes: usize,
    /// False when the values are stored as they are, whatever the chunk's codec.
    pub is_compressed: bool,
}

/// The distinct values of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryPageHeader {
    /// How many there are.
    pub num_values: usize,
    /// PLAIN or PLAIN_DICTIONARY, which mean the same here.
    pub encoding: Encoding,
    /// The values are sorted.
    pub is_sorted: bool,
}

/// What stands before a bloom filter's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomFilterHeader {
    /// Size of the bits.
    pub num_bytes: u32,
    /// Split-block filter, xxHash, not compressed: the one kind that exists.
    pub is_known_kind: bool,
}
