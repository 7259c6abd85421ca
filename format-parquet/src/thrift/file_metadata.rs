//! The footer's bytes as [`FileMetaData`].
//!
//! One function a struct, named after it. Fields we do not use are passed over; required fields
//! are asked for at the end of each struct, so that an error can name the struct and the field.
//! Hints that careless writers get wrong (total sizes, offsets of indexes) never fail the file.

use vector::sync::Arc;
use vector::{Buffer, Result, TimeUnit};

use super::chunks::ColumnChunks;
use super::memory::MetadataMemory;
use super::structs::{
    Codec, ColumnChunk, ColumnCrypto, ColumnMetaData, ColumnOrder, ConvertedType, Encoding,
    EncryptionAlgorithm, FileCryptoMetaData, FileMetaData, IndexRegion, KeyValue, LogicalType,
    PageEncodingStats, PageType, PhysicalType, Repetition, RowGroup, SchemaElement, SortingColumn,
};
use super::{Field, ThriftReader, WireType, required};
use crate::statistics::{size_statistics, statistics};

/// Least bytes of an element on the wire: its required fields at one byte of body each.
const MIN_SCHEMA_ELEMENT_BYTES: usize = 3;
const MIN_ROW_GROUP_BYTES: usize = 7;
const MIN_KEY_VALUE_BYTES: usize = 3;
const MIN_COLUMN_ORDER_BYTES: usize = 2;
const MIN_SORTING_COLUMN_BYTES: usize = 5;
const MIN_PAGE_ENCODING_STATS_BYTES: usize = 7;

/// Parses a footer, but for its chunks, which keep the bytes. Bytes after the last field are
/// ignored: a signature may stand there.
pub fn parse_file_metadata(bytes: &Buffer<u8>) -> Result<FileMetaData> {
    parse_file_metadata_in(bytes, None)
}

/// As [`parse_file_metadata`]; what is parsed, now and later, is charged to `memory`.
///
/// # Errors
///
/// `Limit` when there is no room for it.
pub fn parse_file_metadata_in(
    bytes: &Buffer<u8>,
    memory: Option<&Arc<MetadataMemory>>,
) -> Result<FileMetaData> {
    let r = &mut ThriftReader::new(bytes).with_memory(memory);
    let (mut version, mut schema, mut num_rows, mut row_groups) = (None, None, None, None);
    let mut key_value_metadata = Vec::new();
    let (mut created_by, mut column_orders) = (None, None);
    let (mut encryption, mut footer_signing_key_metadata) = (None, None);
    r.read_struct("FileMetaData", |r, field| {
        match field.id {
            1 => version = Some(r.read_i32(field)?),
            2 => {
                schema = Some(r.read_list(
                    field,
                    WireType::Struct,
                    MIN_SCHEMA_ELEMENT_BYTES,
                    schema_element,
                )?);
            }
            3 => num_rows = Some(r.read_u64(field)?),
            4 => {
                let read = |r: &mut ThriftReader<'_>| row_group(r, bytes);
                row_groups =
                    Some(r.read_list(field, WireType::Struct, MIN_ROW_GROUP_BYTES, read)?);
            }
            5 => key_value_metadata = key_values(r, field)?,
            6 => created_by = Some(r.read_text(field)?),
            7 => {
                column_orders = Some(r.read_list(
                    field,
                    WireType::Struct,
                    MIN_COLUMN_ORDER_BYTES,
                    column_order,
                )?);
            }
            8 => encryption = encryption_algorithm(r, field)?,
            9 => footer_signing_key_metadata = Some(r.read_binary(field)?.to_vec()),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(FileMetaData {
        version: required(version, "version")?,
        schema: required(schema, "schema")?,
        num_rows: required(num_rows, "num_rows")?,
        row_groups: required(row_groups, "row_groups")?,
        key_value_metadata,
        created_by,
        column_orders,
        encryption,
        footer_signing_key_metadata,
    })
}

fn schema_element(r: &mut ThriftReader<'_>) -> Result<SchemaElement> {
    let mut name = None;
    let mut element = SchemaElement {
        name: String::new(),
        physical: None,
        type_length: None,
        repetition: None,
        num_children: None,
        converted: None,
        scale: None,
        precision: None,
        field_id: None,
        logical: None,
    };
    r.read_struct("SchemaElement", |r, field| {
        match field.id {
            1 => element.physical = Some(PhysicalType::try_from(r.read_i32(field)?)?),
            2 => element.type_length = Some(r.read_i32(field)?),
            3 => element.repetition = Some(Repetition::try_from(r.read_i32(field)?)?),
            4 => name = Some(r.read_text(field)?),
            5 => element.num_children = Some(r.read_i32(field)?),
            6 => element.converted = Some(ConvertedType::from(r.read_i32(field)?)),
            7 => element.scale = Some(r.read_i32(field)?),
            8 => element.precision = Some(r.read_i32(field)?),
            9 => element.field_id = Some(r.read_i32(field)?),
            10 => element.logical = logical_type(r, field)?,
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    element.name = required(name, "name")?;
    Ok(element)
}

/// The last member of a union wins; none is as if the union were absent.
fn logical_type(r: &mut ThriftReader<'_>, field: Field) -> Result<Option<LogicalType>> {
    r.expect(field, WireType::Struct)?;
    let mut logical = None;
    r.read_struct("LogicalType", |r, member| {
        let id = member.id;
        let has_body = matches!(id, 5 | 7 | 8 | 10 | 16 | 17 | 18);
        if has_body {
            r.expect(member, WireType::Struct)?;
        } else {
            r.skip(member)?;
        }
        logical = Some(match id {
            1 => LogicalType::String,
            2 => LogicalType::Map,
            3 => LogicalType::List,
            4 => LogicalType::Enum,
            5 => decimal_type(r)?,
            6 => LogicalType::Date,
            7 => {
                let (is_adjusted_to_utc, unit) = time_type(r)?;
                LogicalType::Time { is_adjusted_to_utc, unit }
            }
            8 => {
                let (is_adjusted_to_utc, unit) = time_type(r)?;
                LogicalType::Timestamp { is_adjusted_to_utc, unit }
            }
            10 => integer_type(r)?,
            11 => LogicalType::Null,
            12 => LogicalType::Json,
            13 => LogicalType::Bson,
            14 => LogicalType::Uuid,
            15 => LogicalType::Float16,
            16 => variant_type(r)?,
            17 => {
                let (crs, _) = geo_type(r)?;
                LogicalType::Geometry { crs }
            }
            18 => {
                let (crs, algorithm) = geo_type(r)?;
                LogicalType::Geography { crs, algorithm }
            }
            19 => LogicalType::File,
            other => LogicalType::Unrecognized(other),
        });
        Ok(())
    })?;
    Ok(logical)
}

fn decimal_type(r: &mut ThriftReader<'_>) -> Result<LogicalType> {
    let (mut scale, mut precision) = (None, None);
    r.read_struct("DecimalType", |r, field| {
        match field.id {
            1 => scale = Some(r.read_i32(field)?),
            2 => precision = Some(r.read_i32(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    // A missing scale is 0 wherever decimals are read.
    Ok(LogicalType::Decimal {
        scale: scale.unwrap_or(0),
        precision: required(precision, "precision")?,
    })
}

fn time_type(r: &mut ThriftReader<'_>) -> Result<(bool, Option<TimeUnit>)> {
    let (mut is_adjusted_to_utc, mut unit) = (false, None);
    r.read_struct("TimeType", |r, field| {
        match field.id {
            1 => is_adjusted_to_utc = r.read_bool(field)?,
            2 => {
                r.expect(field, WireType::Struct)?;
                r.read_struct("TimeUnit", |r, member| {
                    unit = match member.id {
                        1 => Some(TimeUnit::Millis),
                        2 => Some(TimeUnit::Micros),
                        3 => Some(TimeUnit::Nanos),
                        _ => None,
                    };
                    r.skip(member)
                })?;
            }
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok((is_adjusted_to_utc, unit))
}

fn integer_type(r: &mut ThriftReader<'_>) -> Result<LogicalType> {
    let (mut bit_width, mut is_signed) = (None, None);
    r.read_struct("IntType", |r, field| {
        match field.id {
            1 => bit_width = Some(r.read_i8(field)?),
            2 => is_signed = Some(r.read_bool(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(LogicalType::Integer {
        bit_width: required(bit_width, "bitWidth")?,
        is_signed: required(is_signed, "isSigned")?,
    })
}

fn variant_type(r: &mut ThriftReader<'_>) -> Result<LogicalType> {
    let mut specification_version = None;
    r.read_struct("VariantType", |r, field| {
        match field.id {
            1 => specification_version = Some(r.read_i8(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(LogicalType::Variant { specification_version })
}

fn geo_type(r: &mut ThriftReader<'_>) -> Result<(Option<String>, Option<i32>)> {
    let (mut crs, mut algorithm) = (None, None);
    r.read_struct("GeometryType", |r, field| {
        match field.id {
            1 => crs = Some(r.read_text(field)?),
            2 => algorithm = Some(r.read_i32(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok((crs, algorithm))
}

fn row_group(r: &mut ThriftReader<'_>, footer: &Buffer<u8>) -> Result<RowGroup> {
    let (mut columns, mut total_bytes, mut num_rows) = (None, None, None);
    let mut sorting_columns = Vec::new();
    let (mut file_offset, mut total_compressed_bytes, mut ordinal) = (None, None, None);
    r.read_struct("RowGroup", |r, field| {
        match field.id {
            1 => columns = Some(ColumnChunks::read(r, field, footer)?),
            2 => total_bytes = Some(hint(r.read_i64(field)?).unwrap_or(0)),
            3 => num_rows = Some(r.read_u64(field)?),
            4 => {
                sorting_columns =
                    r.read_list(field, WireType::Struct, MIN_SORTING_COLUMN_BYTES, sorting_column)?;
            }
            5 => file_offset = hint(r.read_i64(field)?),
            6 => total_compressed_bytes = hint(r.read_i64(field)?),
            7 => ordinal = Some(r.read_i16(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(RowGroup {
        columns: required(columns, "columns")?,
        total_uncompressed_bytes: total_bytes.unwrap_or(0),
        num_rows: required(num_rows, "num_rows")?,
        sorting_columns,
        file_offset,
        total_compressed_bytes,
        ordinal,
    })
}

pub(super) fn column_chunk(r: &mut ThriftReader<'_>) -> Result<ColumnChunk> {
    let (mut file_path, mut meta_data) = (None, None);
    let (mut crypto, mut encrypted_meta_data) = (None, None);
    let (mut offset_index, mut column_index) = (Region::default(), Region::default());
    r.read_struct("ColumnChunk", |r, field| {
        match field.id {
            1 => file_path = Some(r.read_text(field)?),
            3 => {
                r.expect(field, WireType::Struct)?;
                meta_data = Some(column_meta_data(r)?);
            }
            4 => offset_index.offset = Some(r.read_i64(field)?),
            5 => offset_index.bytes = Some(r.read_i32(field)?),
            6 => column_index.offset = Some(r.read_i64(field)?),
            7 => column_index.bytes = Some(r.read_i32(field)?),
            8 => crypto = Some(column_crypto(r, field)?),
            9 => encrypted_meta_data = Some(r.read_binary(field)?.to_vec()),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(ColumnChunk {
        file_path,
        meta_data,
        offset_index: offset_index.checked(),
        column_index: column_index.checked(),
        crypto,
        encrypted_meta_data,
        is_unlocked: false,
    })
}

fn column_crypto(r: &mut ThriftReader<'_>, field: Field) -> Result<ColumnCrypto> {
    r.expect(field, WireType::Struct)?;
    let mut found = None;
    r.read_struct("ColumnCryptoMetaData", |r, member| {
        match member.id {
            1 => {
                r.skip(member)?;
                found = Some(ColumnCrypto::FooterKey);
            }
            2 => {
                r.expect(member, WireType::Struct)?;
                let (mut path, mut key_metadata) = (None, None);
                r.read_struct("EncryptionWithColumnKey", |r, field| {
                    match field.id {
                        1 => path = Some(r.read_list(field, WireType::Binary, 1, name)?),
                        2 => key_metadata = Some(r.read_binary(field)?.to_vec()),
                        _ => r.skip(field)?,
                    }
                    Ok(())
                })?;
                let path = required(path, "path_in_schema")?;
                found = Some(ColumnCrypto::ColumnKey { path, key_metadata });
            }
            _ => r.skip(member)?,
        }
        Ok(())
    })?;
    required(found, "crypto_metadata")
}

fn name(r: &mut ThriftReader<'_>) -> Result<String> {
    Ok(String::from_utf8_lossy(r.binary()?).into_owned())
}

/// Parses a column chunk's metadata that stands alone, as it does where it is encrypted.
pub fn parse_column_metadata(bytes: &[u8]) -> Result<ColumnMetaData> {
    column_meta_data(&mut ThriftReader::new(bytes))
}

/// Parses what stands in front of an encrypted footer; gives it and how many bytes it takes.
pub fn parse_file_crypto_metadata(bytes: &[u8]) -> Result<(FileCryptoMetaData, usize)> {
    let r = &mut ThriftReader::new(bytes);
    let (mut algorithm, mut key_metadata) = (None, None);
    r.read_struct("FileCryptoMetaData", |r, field| {
        match field.id {
            1 => algorithm = encryption_algorithm(r, field)?,
            2 => key_metadata = Some(r.read_binary(field)?.to_vec()),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    let algorithm = required(algorithm, "encryption_algorithm")?;
    Ok((FileCryptoMetaData { algorithm, key_metadata }, r.offset()))
}

fn column_meta_data(r: &mut ThriftReader<'_>) -> Result<ColumnMetaData> {
    let (mut physical, mut codec, mut num_values) = (None, None, None);
    let (mut uncompressed, mut compressed, mut data_page_offset) = (None, None, None);
    let (mut index_page_offset, mut dictionary_page_offset) = (None, None);
    let (mut encodings, mut key_value_metadata) = (Vec::new(), Vec::new());
    let (mut encoding_stats, mut path_in_schema) = (Vec::new(), String::new());
    let (mut statistics_, mut size_statistics_) = (None, None);
    let mut bloom_filter = Region::default();
    r.read_struct("ColumnMetaData", |r, field| {
        match field.id {
            1 => physical = Some(PhysicalType::try_from(r.read_i32(field)?)?),
            2 => {
                encodings =
                    r.read_list(field, WireType::I32, 1, |r| Ok(Encoding::from(r.zigzag_i32()?)))?;
            }
            3 => path_in_schema = joined_path(r, field)?,
            4 => codec = Some(Codec::from(r.read_i32(field)?)),
            5 => num_values = Some(r.read_u64(field)?),
            6 => uncompressed = hint(r.read_i64(field)?),
            7 => compressed = Some(r.read_u64(field)?),
            8 => key_value_metadata = key_values(r, field)?,
            9 => data_page_offset = Some(r.read_u64(field)?),
            10 => index_page_offset = hint(r.read_i64(field)?),
            11 => dictionary_page_offset = hint(r.read_i64(field)?),
            12 => {
                r.expect(field, WireType::Struct)?;
                statistics_ = Some(Box::new(statistics(r)?));
            }
            13 => {
                encoding_stats = r.read_list(
                    field,
                    WireType::Struct,
                    MIN_PAGE_ENCODING_STATS_BYTES,
                    page_encoding_stats,
                )?;
            }
            // Numbers 14 and 15 mean something else, and are lists, with an old writer.
            14 if field.wire == WireType::I64 => bloom_filter.offset = Some(r.read_i64(field)?),
            15 if field.wire == WireType::I32 => bloom_filter.bytes = Some(r.read_i32(field)?),
            16 => {
                r.expect(field, WireType::Struct)?;
                size_statistics_ = Some(Box::new(size_statistics(r)?));
            }
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(ColumnMetaData {
        physical: required(physical, "type")?,
        encodings,
        path_in_schema,
        codec: required(codec, "codec")?,
        num_values: required(num_values, "num_values")?,
        total_uncompressed_bytes: uncompressed.unwrap_or(0),
        total_compressed_bytes: required(compressed, "total_compressed_size")?,
        key_value_metadata,
        data_page_offset: required(data_page_offset, "data_page_offset")?,
        index_page_offset,
        dictionary_page_offset,
        statistics: statistics_,
        encoding_stats,
        bloom_filter: bloom_filter.checked_or_unsized(),
        size_statistics: size_statistics_,
    })
}

/// One string for the whole path: wide footers are mostly this field, and nobody looks it up.
fn joined_path(r: &mut ThriftReader<'_>, field: Field) -> Result<String> {
    let mut path = String::new();
    let mut is_first = true;
    r.read_list(field, WireType::Binary, 1, |r| {
        if !std::mem::replace(&mut is_first, false) {
            path.push('.');
        }
        path.push_str(&String::from_utf8_lossy(r.binary()?));
        Ok(())
    })?;
    Ok(path)
}

fn page_encoding_stats(r: &mut ThriftReader<'_>) -> Result<PageEncodingStats> {
    let (mut page_type, mut encoding, mut num_pages) = (None, None, None);
    r.read_struct("PageEncodingStats", |r, field| {
        match field.id {
            1 => page_type = Some(PageType::from(r.read_i32(field)?)),
            2 => encoding = Some(Encoding::from(r.read_i32(field)?)),
            3 => num_pages = Some(r.read_u32(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(PageEncodingStats {
        page_type: required(page_type, "page_type")?,
        encoding: required(encoding, "encoding")?,
        num_pages: required(num_pages, "count")?,
    })
}

fn sorting_column(r: &mut ThriftReader<'_>) -> Result<SortingColumn> {
    let (mut leaf, mut is_descending, mut is_nulls_first) = (None, None, None);
    r.read_struct("SortingColumn", |r, field| {
        match field.id {
            1 => leaf = Some(r.read_i32(field)?),
            2 => is_descending = Some(r.read_bool(field)?),
            3 => is_nulls_first = Some(r.read_bool(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(SortingColumn {
        leaf: required(leaf, "column_idx")?,
        is_descending: required(is_descending, "descending")?,
        is_nulls_first: required(is_nulls_first, "nulls_first")?,
    })
}

fn key_values(r: &mut ThriftReader<'_>, field: Field) -> Result<Vec<KeyValue>> {
    r.read_list(field, WireType::Struct, MIN_KEY_VALUE_BYTES, |r| {
        let (mut key, mut value) = (None, None);
        r.read_struct("KeyValue", |r, field| {
            match field.id {
                1 => key = Some(r.read_text(field)?),
                2 => value = Some(r.read_text(field)?),
                _ => r.skip(field)?,
            }
            Ok(())
        })?;
        Ok(KeyValue { key: required(key, "key")?, value })
    })
}

fn column_order(r: &mut ThriftReader<'_>) -> Result<ColumnOrder> {
    let mut order = ColumnOrder::Unknown;
    r.read_struct("ColumnOrder", |r, member| {
        order = match member.id {
            1 => ColumnOrder::TypeDefined,
            2 => ColumnOrder::Ieee754Total,
            3 => ColumnOrder::Int96Timestamp,
            _ => ColumnOrder::Unknown,
        };
        r.skip(member)
    })?;
    Ok(order)
}

fn encryption_algorithm(
    r: &mut ThriftReader<'_>,
    field: Field,
) -> Result<Option<EncryptionAlgorithm>> {
    r.expect(field, WireType::Struct)?;
    let mut algorithm = None;
    r.read_struct("EncryptionAlgorithm", |r, member| {
        if !matches!(member.id, 1 | 2) {
            return r.skip(member);
        }
        r.expect(member, WireType::Struct)?;
        let mut found = EncryptionAlgorithm {
            is_ctr: member.id == 2,
            aad_prefix: None,
            aad_file_unique: None,
            supply_aad_prefix: false,
        };
        r.read_struct("AesGcm", |r, field| {
            match field.id {
                1 => found.aad_prefix = Some(r.read_binary(field)?.to_vec()),
                2 => found.aad_file_unique = Some(r.read_binary(field)?.to_vec()),
                3 => found.supply_aad_prefix = r.read_bool(field)?,
                _ => r.skip(field)?,
            }
            Ok(())
        })?;
        algorithm = Some(found);
        Ok(())
    })?;
    Ok(algorithm)
}

/// A number that may be nonsense without harm.
fn hint(value: i64) -> Option<u64> {
    u64::try_from(value).ok()
}

/// Offset and size of something optional, as stored.
#[derive(Default)]
struct Region {
    offset: Option<i64>,
    bytes: Option<i32>,
}

impl Region {
    /// The region if both halves make sense: a bad index is as good as none.
    fn checked(&self) -> Option<IndexRegion> {
        let bytes = u32::try_from(self.bytes?).ok().filter(|bytes| *bytes > 0)?;
        let offset = hint(self.offset?).filter(|offset| *offset >= 4)?;
        Some(IndexRegion { offset, bytes })
    }

    /// As [`Region::checked`], but the size may be missing and is 0 then.
    fn checked_or_unsized(&self) -> Option<IndexRegion> {
        let bytes = self.bytes.map_or(Some(0), |bytes| u32::try_from(bytes).ok())?;
        let offset = hint(self.offset?).filter(|offset| *offset >= 4)?;
        Some(IndexRegion { offset, bytes })
    }
}
