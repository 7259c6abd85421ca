//! Column handles: what a plan says about the columns of a Hive table.
//!
//! Handles are plain data that can be printed; `exec` carries them without looking inside. A column
//! handle names the *table's* column; the plan's name for it stands in the scan's assignments and
//! is not used below (rule S6.2).
//!
//! ```text
//! files' type --extractions--> output type          most columns have none: both are the same
//!     filters, pruning            post-processor
//! ```

use std::any::Any;
use std::fmt;

use dwio::connector::ColumnHandle;
use dwio::subfield::Subfield;
use vector::sync::Arc;
use vector::{Error, Result, Type, VectorRef};

use crate::extraction::Extraction;
use crate::partition::DateText;

/// The path of the file that a row is in.
pub const PATH: &str = "$path";
/// The length in bytes of the file that a row is in.
pub const FILE_SIZE: &str = "$file_size";
/// The last change of the file that a row is in, in milliseconds since 1970.
pub const FILE_MODIFIED_TIME: &str = "$file_modified_time";
/// The bucket that a row is in.
pub const BUCKET: &str = "$bucket";
/// The row's number in its file.
pub const ROW_INDEX: &str = "$row_index";

/// The fields that a row id column has (rule S6.58).
pub const ROW_ID_FIELDS: usize = 5;

/// The type of a column that is made from the split, by its conventional name (rule S7.81).
pub fn info_column_type(name: &str) -> Option<Type> {
    match name {
        PATH => Some(Type::Varchar),
        FILE_SIZE | FILE_MODIFIED_TIME => Some(Type::BigInt),
        BUCKET => Some(Type::Integer),
        _ => None,
    }
}

/// Where the values of a column come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// The file, if it has the column, else null.
    Regular,
    /// The directory name: one value for a file.
    PartitionKey,
    /// The split's info columns: one value for a file.
    Synthesized,
    /// The row's number in its file.
    RowIndex,
    /// Row number, file and partition together (rule S6.58).
    RowId,
}

impl ColumnKind {
    /// True when all rows of a split have the same value.
    pub fn is_split_constant(self) -> bool {
        matches!(self, ColumnKind::PartitionKey | ColumnKind::Synthesized)
    }
}

/// One column of a Hive table.
#[derive(Debug, Clone, PartialEq)]
pub struct HiveColumnHandle {
    name: String,
    kind: ColumnKind,
    ty: Type,
    schema_type: Option<Type>,
    required_subfields: Vec<Subfield>,
    extractions: Vec<Extraction>,
    file_column: Option<FileColumn>,
    dates: DateText,
    post_processor: Option<PostProcessor>,
}

/// A function on an output column, run once for each batch that has rows, after all filters. It may
/// change values, not the number of rows nor the type (rule S16.22).
#[derive(Clone)]
pub struct PostProcessor(Arc<ProcessColumn>);

type ProcessColumn = dyn Fn(VectorRef) -> Result<VectorRef> + Send + Sync;

/// A top-level column of files that have its name more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileColumn {
    /// The name in the files.
    pub name: String,
    /// How many columns before it have exactly this name.
    pub occurrence: usize,
}

impl HiveColumnHandle {
    /// The column `name`, wanted whole.
    pub fn new(name: impl Into<String>, kind: ColumnKind, ty: Type) -> Self {
        HiveColumnHandle {
            name: name.into(),
            kind,
            ty,
            schema_type: None,
            required_subfields: Vec::new(),
            extractions: Vec::new(),
            file_column: None,
            dates: DateText::Iso,
            post_processor: None,
        }
    }

    /// The column of the files that has this handle's name and `occurrence` others of exactly the
    /// same name before it; its type is `ty`. Since columns of a scan are told apart by name, all
    /// but the first get a number behind theirs: `x`, `x#2`, `x#3`.
    pub fn with_occurrence(mut self, occurrence: usize, ty: Type) -> Self {
        let name = self.file_name().to_string();
        self.name = occurrence_name(&name, occurrence);
        self.ty = ty;
        self.file_column = Some(FileColumn { name, occurrence });
        self
    }

    /// The same column, of which only `subfields` are wanted; none means all. `InvalidInput` when
    /// one of them belongs to another column (rule S3.7).
    pub fn with_required_subfields(mut self, subfields: Vec<Subfield>) -> Result<Self> {
        if let Some(foreign) = subfields.iter().find(|s| s.column_name() != self.name) {
            return Err(Error::invalid_input("a required subfield belongs to another column")
                .with("subfield", foreign))
            .map_err(|e| e.in_named("column", &self.name));
        }
        self.required_subfields = subfields;
        self.check_extractions()
    }

    /// The column of type `schema_type` in the files, of which the output is what `extractions`
    /// give: that of the only one, or a struct with a field for each. None means the column itself,
    /// which then must be of the handle's type. `InvalidInput` when a chain does not fit (rules
    /// S16.3, S16.5).
    pub fn with_extractions(
        mut self,
        schema_type: Type,
        extractions: Vec<Extraction>,
    ) -> Result<Self> {
        self.schema_type = Some(schema_type);
        self.extractions = extractions;
        self.check_extractions()
    }

    fn check_extractions(self) -> Result<Self> {
        let checked = if !self.extractions.is_empty() && !self.required_subfields.is_empty() {
            Err(Error::invalid_input("extractions and required subfields exclude each other"))
        } else {
            crate::extraction::output_type(self.schema_type(), &self.extractions)
        };
        let derived = checked.map_err(|e| e.in_named("column", &self.name))?;
        if derived.is_equivalent(&self.ty) {
            return Ok(self);
        }
        Err(Error::invalid_input("a column handle declares another type than its column gives")
            .with("declared", &self.ty)
            .with("derived", derived)
            .in_named("column", &self.name))
    }

    /// The same column, whose partition values have dates of this form (rule S8.5).
    pub fn with_date_text(mut self, dates: DateText) -> Self {
        self.dates = dates;
        self
    }

    /// The same column with a function that the output passes through last.
    pub fn with_post_processor(mut self, post_processor: PostProcessor) -> Self {
        self.post_processor = Some(post_processor);
        self
    }

    /// The table's name for the column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files' name for the column.
    pub fn file_name(&self) -> &str {
        self.file_column.as_ref().map_or(&self.name, |c| &c.name)
    }

    /// Which of several columns of the files it is, if that was told.
    pub fn file_column(&self) -> Option<&FileColumn> {
        self.file_column.as_ref()
    }

    /// Where its values come from.
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// The type that the scan gives.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The type that is read, before extractions.
    pub fn schema_type(&self) -> &Type {
        self.schema_type.as_ref().unwrap_or(&self.ty)
    }

    /// What is made of the column; none means the column itself.
    pub fn extractions(&self) -> &[Extraction] {
        &self.extractions
    }

    /// How dates are written in its partition values.
    pub fn date_text(&self) -> DateText {
        self.dates
    }

    /// The function that the output passes through last.
    pub fn post_processor(&self) -> Option<&PostProcessor> {
        self.post_processor.as_ref()
    }

    /// The parts that are wanted; none means the whole column.
    pub fn required_subfields(&self) -> &[Subfield] {
        &self.required_subfields
    }

    /// The Hive handle inside a handle; `Internal` when it is of another connector.
    pub fn of(handle: &dyn ColumnHandle) -> Result<&HiveColumnHandle> {
        handle.as_any().downcast_ref().ok_or_else(|| {
            Error::internal("a column handle of another connector")
                .with("column", handle.column_name())
        })
    }
}

impl ColumnHandle for HiveColumnHandle {
    fn column_name(&self) -> &str {
        &self.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl PostProcessor {
    /// A post-processor that runs `process`.
    pub fn new(process: impl Fn(VectorRef) -> Result<VectorRef> + Send + Sync + 'static) -> Self {
        PostProcessor(Arc::new(process))
    }

    /// Runs the function on a column of a batch.
    pub fn process(&self, column: VectorRef) -> Result<VectorRef> {
        let (ty, len) = (column.ty().clone(), column.len());
        let processed = (self.0)(column)?;
        if processed.len() == len && processed.ty().is_equivalent(&ty) {
            return Ok(processed);
        }
        Err(Error::internal("a post-processor changed the size or type of its column")
            .with("type", format_args!("{ty} became {}", processed.ty()))
            .with("rows", format_args!("{len} became {}", processed.len())))
    }
}

impl fmt::Debug for PostProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostProcessor")
    }
}

impl PartialEq for PostProcessor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The name of one of several columns of a file that have the same.
pub fn occurrence_name(name: &str, occurrence: usize) -> String {
    match occurrence {
        0 => name.to_string(),
        before => format!("{name}#{}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwio::subfield::PathElement;
    use vector::ErrorKind;

    #[test]
    fn required_subfields_of_another_column_are_refused() {
        let handle =
            HiveColumnHandle::new("a", ColumnKind::Regular, Type::row([("b", Type::BigInt)]));
        let own = Subfield::column("a").then(PathElement::Field("b".into()));
        assert!(handle.clone().with_required_subfields(vec![own]).is_ok());
        let error = handle.with_required_subfields(vec![Subfield::column("b")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            error.to_string(),
            "invalid input: a required subfield belongs to another column (subfield=b)\n  \
             in column \"a\""
        );
    }
}
