//! Column handles: what a plan specifies about the columns of a Hive table.
//!
//! Handles are plain data that can be printed; `exec` passes them on as opaque values. A column
//! handle has the *table's* name of the column. The plan's name for it is in the scan's assignments
//! and is not used in the connector (rule S6.2).
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

use crate::table::extraction::Extraction;
use crate::table::partition::DateText;

/// Source of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// The file; null if the file does not have the column.
    Regular,
    /// The directory name, with one value per file.
    PartitionKey,
    /// The synthesized columns of the split, with one value per file.
    Synthesized,
    /// The row's number in its file.
    RowIndex,
    /// Row number, file and partition combined (rule S6.58).
    RowId,
}

impl ColumnKind {
    /// Returns true if all rows of a split have the same value.
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

/// A function on an output column that runs once for each batch with rows, after all filters. It
/// may change values but neither the number of rows nor the type (rule S16.22).
#[derive(Clone)]
pub struct PostProcessor(Arc<ProcessColumn>);

type ProcessColumn = dyn Fn(VectorRef) -> Result<VectorRef> + Send + Sync;

/// A top-level column of files that have several columns of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileColumn {
    /// Name of the column in the files.
    pub name: String,
    /// Number of columns before it with exactly this name.
    pub occurrence: usize,
}

impl HiveColumnHandle {
    /// Returns the handle of column `name`, of which the whole value is required.
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

    /// Returns the handle of the column in the files that has this handle's name, has type `ty`,
    /// and is preceded by `occurrence` columns of exactly the same name. Since a scan identifies
    /// columns by name, all but the first get a number as suffix: `x`, `x#2`, `x#3`.
    pub fn with_occurrence(mut self, occurrence: usize, ty: Type) -> Self {
        let name = self.file_name().to_string();
        self.name = occurrence_name(&name, occurrence);
        self.ty = ty;
        self.file_column = Some(FileColumn { name, occurrence });
        self
    }

    /// Returns the handle with required subfields. An empty list requires the whole column.
    ///
    /// # Errors
    /// `InvalidInput` if a subfield belongs to another column (rule S3.7) or the handle has
    /// extractions.
    pub fn with_required_subfields(mut self, subfields: Vec<Subfield>) -> Result<Self> {
        if let Some(foreign) = subfields.iter().find(|s| s.column_name() != self.name) {
            return Err(Error::invalid_input("a required subfield belongs to another column")
                .with("subfield", foreign))
            .map_err(|e| e.in_named("column", &self.name));
        }
        self.required_subfields = subfields;
        self.check_extractions()
    }

    /// Returns the handle of a column that has type `schema_type` in the files and whose output is
    /// the result of `extractions`: the result of a single one, or a struct with a field for each
    /// of several. An empty list means the column itself, which must have the handle's type.
    ///
    /// # Errors
    /// `InvalidInput` if a chain does not fit the type or the handle has required subfields (rules
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
            crate::table::extraction::output_type(self.schema_type(), &self.extractions)
        };
        let derived = checked.map_err(|e| e.in_named("column", &self.name))?;
        if derived.is_equivalent(&self.ty) {
            return Ok(self);
        }
        Err(Error::invalid_input("a column handle declares another type than its column has")
            .with("declared", &self.ty)
            .with("derived", derived)
            .in_named("column", &self.name))
    }

    /// Returns the handle with this form of dates in partition values (rule S8.5).
    pub fn with_date_text(mut self, dates: DateText) -> Self {
        self.dates = dates;
        self
    }

    /// Returns the handle with a function that is applied last to the output.
    pub fn with_post_processor(mut self, post_processor: PostProcessor) -> Self {
        self.post_processor = Some(post_processor);
        self
    }

    /// Name of the column in the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the column in the files.
    pub fn file_name(&self) -> &str {
        self.file_column.as_ref().map_or(&self.name, |c| &c.name)
    }

    /// The column's name and occurrence in the files, if the name alone is ambiguous.
    pub fn file_column(&self) -> Option<&FileColumn> {
        self.file_column.as_ref()
    }

    /// Source of the column's values.
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// Type of the output, after extractions.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Type that is read, before extractions.
    pub fn schema_type(&self) -> &Type {
        self.schema_type.as_ref().unwrap_or(&self.ty)
    }

    /// Extractions that produce the output; empty if the output is the column itself.
    pub fn extractions(&self) -> &[Extraction] {
        &self.extractions
    }

    /// Text form of dates in the column's partition values.
    pub fn date_text(&self) -> DateText {
        self.dates
    }

    /// Function that is applied last to the output.
    pub fn post_processor(&self) -> Option<&PostProcessor> {
        self.post_processor.as_ref()
    }

    /// Required subfields; empty if the whole column is required.
    pub fn required_subfields(&self) -> &[Subfield] {
        &self.required_subfields
    }

    /// Downcasts a column handle to a Hive column handle.
    ///
    /// # Errors
    /// `Internal` if it belongs to another connector.
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
    /// Returns a post-processor that runs `process`.
    pub fn new(process: impl Fn(VectorRef) -> Result<VectorRef> + Send + Sync + 'static) -> Self {
        PostProcessor(Arc::new(process))
    }

    /// Runs the function on a column of a batch.
    ///
    /// # Errors
    /// Errors of the function; `Internal` if it changes the number of rows or the type.
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

/// Returns the name by which a scan identifies one of several columns of the same name.
pub(crate) fn occurrence_name(name: &str, occurrence: usize) -> String {
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
