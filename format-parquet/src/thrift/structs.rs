//! The structs and enums of the footer and of page headers, as Rust types.
//!
//! Counts, sizes and offsets are unsigned here: the parsers check the sign once. An unknown enum
//! value is kept as its number (`Unknown`), so that it affects only readers of the column. Structs
//! of statistics and page indexes are in separate files.
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

/// Defines an enum of the format that keeps unknown values.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum $name {
            $($variant,)*
            /// A number that is unknown to this version.
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
    /// Encoding of the values of a page.
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
    /// Compression codec of pages.
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

/// Physical type of the values of a leaf. The schema cannot be read without it, so there is no
/// unknown value.
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
    /// Returns the name in the format.
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

/// Repetition of a field in its parent.
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
    /// Returns the name in the format.
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
    /// A decimal, with the number of digits after the decimal point and of all digits, as stored.
    Decimal {
        scale: i32,
        precision: i32,
    },
    Date,
    /// A time of day; `unit` is `None` when it is unknown.
    Time {
        is_adjusted_to_utc: bool,
        unit: Option<TimeUnit>,
    },
    /// A point in time; `unit` is `None` when it is unknown.
    Timestamp {
        is_adjusted_to_utc: bool,
        unit: Option<TimeUnit>,
    },
    Integer {
        bit_width: i8,
        is_signed: bool,
    },
    /// The type of a column that is null in every row; the format calls it UNKNOWN.
    Null,
    Json,
    Bson,
    Uuid,
    Float16,
    /// An interval, which exists only as an older annotation.
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
    /// A member of the union that is unknown to this version, by its field number.
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
    /// Name of the field.
    pub name: String,
    /// Physical type of a leaf; `None` for a group.
    pub physical: Option<PhysicalType>,
    /// Number of bytes of a FIXED_LEN_BYTE_ARRAY.
    pub type_length: Option<i32>,
    /// Repetition of the field; `None` for the root, and for other fields of some incorrect
    /// writers.
    pub repetition: Option<Repetition>,
    /// Number of children of a group.
    pub num_children: Option<i32>,
    /// The older annotation.
    pub converted: Option<ConvertedType>,
    /// Number of digits after the decimal point, for an older DECIMAL annotation.
    pub scale: Option<i32>,
    /// Number of all digits, for an older DECIMAL annotation.
    pub precision: Option<i32>,
    /// The number by which table formats identify the field.
    pub field_id: Option<i32>,
    /// The newer annotation.
    pub logical: Option<LogicalType>,
}

/// The content of the footer.
#[derive(Debug, Clone)]
pub struct FileMetaData {
    /// Version of the format, 1 or 2; it does not determine how pages are written.
    pub version: i32,
    /// The schema tree in depth-first order.
    pub schema: Vec<SchemaElement>,
    /// Number of rows of the file, as stated by its writer.
    pub num_rows: u64,
    /// The row groups in file order.
    pub row_groups: Vec<RowGroup>,
    /// Free text of the writer.
    pub key_value_metadata: Vec<KeyValue>,
    /// Name of the writing program.
    pub created_by: Option<String>,
    /// Order of each leaf's bounds; `None` when the file does not state it.
    pub column_orders: Option<Vec<ColumnOrder>>,
    /// The encryption, when columns are encrypted but the footer is not.
    pub encryption: Option<EncryptionAlgorithm>,
    /// Identifies the key that signs the footer.
    pub footer_signing_key_metadata: Option<Vec<u8>>,
}

/// A row group: a part of the file's rows, with all columns.
#[derive(Debug, Clone)]
pub struct RowGroup {
    /// The column chunks, one for each leaf, in schema order.
    pub columns: ColumnChunks,
    /// Total size in bytes of all chunks before compression; a hint, with negative values read as
    /// 0.
    pub total_uncompressed_bytes: u64,
    /// Number of rows of this group.
    pub num_rows: u64,
    /// The columns by which the rows are sorted.
    pub sorting_columns: Vec<SortingColumn>,
    /// Offset of the row group; a hint that is often missing, zero or wrong.
    pub file_offset: Option<u64>,
    /// Total size in bytes of all chunks after compression; a hint that is often missing.
    pub total_compressed_bytes: Option<u64>,
    /// The group's ordinal, when the file states it.
    pub ordinal: Option<i16>,
}

/// A column chunk: the values of one leaf in one row group.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnChunk {
    /// Path of another file that contains the data; it is never opened.
    pub file_path: Option<String>,
    /// The metadata; `None` when it is encrypted, see [`ColumnChunk::meta`].
    pub meta_data: Option<ColumnMetaData>,
    /// Region of the offset index.
    pub offset_index: Option<IndexRegion>,
    /// Region of the column index.
    pub column_index: Option<IndexRegion>,
    /// The encryption of the column's pages, if they are encrypted.
    pub crypto: Option<ColumnCrypto>,
    /// The metadata in encrypted form, when it is encrypted separately.
    pub encrypted_meta_data: Option<Vec<u8>>,
    /// True when the key is known and `meta_data` is the decrypted metadata.
    pub is_unlocked: bool,
}

/// The message of the error for a column without a known key.
pub(crate) const COLUMN_IS_LOCKED: &str = "the column is encrypted and its key is not given";

/// The key with which a column is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnCrypto {
    /// The key of the footer.
    FooterKey,
    /// The column's own key.
    ColumnKey {
        /// The names from the root to the leaf.
        path: Vec<String>,
        /// The file's metadata about the key.
        key_metadata: Option<Vec<u8>>,
    },
}

impl ColumnChunk {
    /// Returns the chunk's metadata.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the chunk is encrypted, `Unsupported` when it is in another file,
    /// `Corrupt` when it has no metadata.
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

/// Region of an index in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRegion {
    /// Offset of the first byte.
    pub offset: u64,
    /// Size in bytes; 0 when the file does not state it.
    pub bytes: u32,
}

/// Metadata of a column chunk: how it is written and where its pages are.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMetaData {
    /// Physical type of the values; it must be that of the schema.
    pub physical: PhysicalType,
    /// The encodings that occur; a hint.
    pub encodings: Vec<Encoding>,
    /// The names from the root, joined by dots; for display, never for look-up.
    pub path_in_schema: String,
    /// Compression codec of the pages.
    pub codec: Codec,
    /// Number of values, nulls included; for nested columns the number of levels.
    pub num_values: u64,
    /// Total size in bytes of page headers and pages before compression; a hint, with negative
    /// values read as 0.
    pub total_uncompressed_bytes: u64,
    /// Total size in bytes of page headers and pages as stored in the file.
    pub total_compressed_bytes: u64,
    /// Free text of the writer.
    pub key_value_metadata: Vec<KeyValue>,
    /// Offset of the first data page.
    pub data_page_offset: u64,
    /// Offset of the first index page, which no known writer produces.
    pub index_page_offset: Option<u64>,
    /// Offset of the dictionary page; 0 and other invalid values occur, see
    /// [`ColumnMetaData::start_offset`].
    pub dictionary_page_offset: Option<u64>,
    /// Bounds and counts, boxed because most readers never use them.
    pub statistics: Option<Box<Statistics>>,
    /// Number of pages for each type and encoding.
    pub encoding_stats: Vec<PageEncodingStats>,
    /// Region of the bloom filter.
    pub bloom_filter: Option<IndexRegion>,
    /// Sizes from which memory can be estimated.
    pub size_statistics: Option<Box<SizeStatistics>>,
}

impl ColumnMetaData {
    /// Returns the offset of the first byte of the chunk, which is the dictionary page if there is
    /// a valid one.
    pub fn start_offset(&self) -> u64 {
        start_of_pages(self.data_page_offset, self.dictionary_page_offset, self.index_page_offset)
    }
}

/// Returns the smallest of the given offsets of pages; invalid offsets of optional pages are
/// ignored.
pub(super) fn start_of_pages(data: u64, dictionary: Option<u64>, index: Option<u64>) -> u64 {
    let others = [dictionary, index].into_iter().flatten().filter(|offset| *offset >= 4);
    others.fold(data, u64::min)
}

/// A key and a value of free text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: String,
    /// The value; it may be missing.
    pub value: Option<String>,
}

/// One column by which rows are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortingColumn {
    /// The number of the leaf.
    pub leaf: i32,
    /// True when the largest value comes first.
    pub is_descending: bool,
    /// True when nulls come before values.
    pub is_nulls_first: bool,
}

/// The order of a leaf's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnOrder {
    /// The order of the column's type.
    TypeDefined,
    /// The total order of IEEE 754.
    Ieee754Total,
    /// The order of INT96 by the point in time.
    Int96Timestamp,
    /// An order that is unknown to this version: bounds of the column are not used.
    Unknown,
}

/// The number of pages of one type and encoding in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEncodingStats {
    /// Type of the pages.
    pub page_type: PageType,
    /// Encoding of the pages.
    pub encoding: Encoding,
    /// Number of pages.
    pub num_pages: u32,
}

/// The algorithm with which columns are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionAlgorithm {
    /// True for AES_GCM_CTR_V1, false for AES_GCM_V1.
    pub is_ctr: bool,
    /// The prefix of the additional authenticated data.
    pub aad_prefix: Option<Vec<u8>>,
    /// The part of the additional authenticated data that is unique to this file.
    pub aad_file_unique: Option<Vec<u8>>,
    /// True when the caller has to supply the prefix.
    pub supply_aad_prefix: bool,
}

/// The struct that is stored before an encrypted footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCryptoMetaData {
    /// The algorithm with which the file is encrypted.
    pub algorithm: EncryptionAlgorithm,
    /// The file's metadata about the footer key.
    pub key_metadata: Option<Vec<u8>>,
}

/// The header of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHeader {
    /// Type of the page, with its specific header.
    pub kind: PageKind,
    /// Size in bytes of the page after decompression, without the header.
    pub uncompressed_bytes: usize,
    /// Size in bytes of the page in the file, without the header.
    pub compressed_bytes: usize,
    /// CRC-32 of the page as stored in the file.
    pub crc: Option<u32>,
    /// Position of the statistics in the header.
    pub statistics: Option<Range<usize>>,
}

/// Type of a page, with the header that is specific to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageKind {
    /// A data page of version 1.
    Data(DataPageHeader),
    /// A data page of version 2.
    DataV2(DataPageHeaderV2),
    /// The dictionary of the chunk.
    Dictionary(DictionaryPageHeader),
    /// An index page, which is skipped.
    Index,
    /// A page of a type that is unknown to this version.
    Unknown(i32),
}

/// The header of a data page of version 1, in which levels and values are compressed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPageHeader {
    /// Number of values, nulls included; for nested columns the number of levels.
    pub num_values: usize,
    /// Encoding of the values.
    pub encoding: Encoding,
    /// Encoding of the definition levels.
    pub definition_encoding: Encoding,
    /// Encoding of the repetition levels.
    pub repetition_encoding: Encoding,
}

/// The header of a data page of version 2, in which uncompressed levels precede the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPageHeaderV2 {
    /// Number of values, nulls included; for nested columns the number of levels.
    pub num_values: usize,
    /// Number of nulls, as stated by the writer.
    pub num_nulls: usize,
    /// Number of rows of the page, as stated by the writer.
    pub num_rows: usize,
    /// Encoding of the values.
    pub encoding: Encoding,
    /// Size in bytes of the definition levels.
    pub definition_bytes: usize,
    /// Size in bytes of the repetition levels, which come first.
    pub repetition_bytes: usize,
    /// False when the values are not compressed, regardless of the chunk's codec.
    pub is_compressed: bool,
}

/// The header of a dictionary page, which contains the distinct values of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryPageHeader {
    /// Number of entries.
    pub num_values: usize,
    /// Encoding of the entries: PLAIN or PLAIN_DICTIONARY, which have the same meaning here.
    pub encoding: Encoding,
    /// True when the entries are sorted.
    pub is_sorted: bool,
}

/// The header before a bloom filter's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomFilterHeader {
    /// Size in bytes of the bits.
    pub num_bytes: u32,
    /// True for an uncompressed split-block filter with xxHash, the only kind that exists.
    pub is_known_kind: bool,
}
