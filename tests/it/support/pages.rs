//! Files whose pages are written without the Arrow crates, which do not write checksums.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Encoding, Repetition, Type as Physical};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter,
    RowGroupMetaData,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{SchemaDescriptor, Type};

/// Returns a file with one required column `n` of 64-bit numbers and one page for each of `pages`:
/// its values and the checksum in its header.
pub(crate) fn file_with_checksums(pages: &[(&[i64], u32)]) -> Vec<u8> {
    let mut bytes = b"PAR1".to_vec();
    for (values, checksum) in pages {
        let body: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        header(&mut bytes, body.len(), values.len(), *checksum);
        bytes.extend(body);
    }
    let leaf = Type::primitive_type_builder("n", Physical::INT64)
        .with_repetition(Repetition::REQUIRED)
        .build();
    let root = Type::group_type_builder("root").with_fields(vec![Arc::new(leaf.unwrap())]).build();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(root.unwrap())));
    let num_values: usize = pages.iter().map(|(values, _)| values.len()).sum();
    let num_bytes = (bytes.len() - 4) as i64;
    let column = ColumnChunkMetaData::builder(schema.column(0))
        .set_encodings(vec![Encoding::PLAIN])
        .set_num_values(num_values as i64)
        .set_total_compressed_size(num_bytes)
        .set_total_uncompressed_size(num_bytes)
        .set_data_page_offset(4)
        .build();
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(num_values as i64)
        .set_total_byte_size(num_bytes)
        .set_column_metadata(vec![column.unwrap()])
        .build();
    let file = FileMetaData::new(1, num_values as i64, None, None, schema, None);
    let metadata = ParquetMetaDataBuilder::new(file).add_row_group(group.unwrap()).build();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    // The oracle reads it too.
    SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap().metadata();
    bytes
}

/// Writes a page header in the compact protocol: type, sizes, checksum, data page of version 1.
fn header(out: &mut Vec<u8>, num_bytes: usize, num_values: usize, checksum: u32) {
    out.extend([0x15, 0x00]);
    for _ in 0..2 {
        out.push(0x15);
        zigzag(out, num_bytes as i32);
    }
    out.push(0x15);
    zigzag(out, checksum.cast_signed());
    out.extend([0x1c, 0x15]);
    zigzag(out, num_values as i32);
    out.extend([0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00]);
}

fn zigzag(out: &mut Vec<u8>, value: i32) {
    let mut value = (value << 1 ^ value >> 31).cast_unsigned();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
