//! Parquet bytes as rows of Ocior vectors.
//!
//! ```text
//! "PAR1" | pages of column chunks ... | indexes | footer | footer length | "PAR1"
//!          ^ row group, then leaf                ^ FileMetaData: schema, row groups, chunks
//! ```
//!
//! In reading order:
//!
//! | file | gives |
//! |---|---|
//! | `footer` | the footer found, checked and parsed |
//! | `thrift` | the compact protocol and the structs of the format |
//! | `schema` | the tree of columns with levels and types |
//! | `statistics`, `page_index` | bounds and page places as stored |

pub mod footer;
pub mod page_index;
pub mod schema;
pub mod statistics;
pub mod thrift;
