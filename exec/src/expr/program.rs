//! Programs: compiled expressions, as lists of nodes in which inputs precede their users.

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type, Value};

use super::kernel::Kernel;
use super::lambda_call::HigherOrder;

/// Index of a node in its program.
pub(super) type NodeId = usize;

/// Operation of a node.
#[derive(Debug)]
pub(super) enum Operation {
    /// The column at a channel.
    Field(usize),
    Constant(Value),
    /// A function of its arguments; `memo` is the index of the only argument that is not constant.
    Call {
        kernel: Kernel,
        args: Vec<NodeId>,
        memo: Option<usize>,
    },
    /// A function of its arguments and of lambdas.
    HigherOrder {
        function: HigherOrder,
        args: Vec<NodeId>,
        lambdas: Vec<Lambda>,
    },
    /// A field of a struct.
    Dereference(NodeId, usize),
    And(Vec<NodeId>),
    Or(Vec<NodeId>),
    /// Conditions with their values, and the value when no condition is true.
    Switch {
        branches: Vec<(NodeId, NodeId)>,
        otherwise: Option<NodeId>,
    },
    Coalesce(Vec<NodeId>),
    /// Null where its input fails.
    Try(NodeId),
}

/// One step of a program.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) operation: Operation,
    pub(super) ty: Type,
    /// Number of nodes and roots that use the node. With more than one, its result is kept for the
    /// batch.
    pub(super) num_uses: usize,
}

/// Compiled expressions.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) nodes: Vec<Node>,
    /// Node of each expression.
    pub(super) roots: Vec<NodeId>,
}

impl Program {
    /// Returns the channels of the input columns that the expressions use.
    pub(super) fn fields(&self) -> Vec<usize> {
        let fields = self.nodes.iter().filter_map(|node| match node.operation {
            Operation::Field(channel) => Some(channel),
            _ => None,
        });
        fields.collect()
    }
}

/// A compiled lambda.
#[derive(Debug)]
pub(super) struct Lambda {
    pub(super) program: Program,
    pub(super) root: NodeId,
    /// Parameters, followed by the captured columns.
    pub(super) columns: Arc<RowType>,
    /// Nodes of the enclosing program that produce the captured columns.
    captures: Vec<NodeId>,
}

impl Lambda {
    /// Creates a lambda from a program of one expression over `columns`, the last of which are
    /// `captures`.
    pub(super) fn new(
        program: Program,
        columns: Arc<RowType>,
        captures: Vec<NodeId>,
    ) -> Result<Self> {
        match (program.roots.as_slice(), columns.len() >= captures.len()) {
            ([root], true) => Ok(Lambda { root: *root, program, columns, captures }),
            _ => Err(Error::internal("a lambda has other columns than it says")),
        }
    }

    /// Returns the captured nodes.
    pub(super) fn captures(&self) -> &[NodeId] {
        &self.captures
    }

    /// Checks that the parameters have the types of their arguments.
    pub(super) fn check(&self, wanted: &[Type]) -> Result<()> {
        let num_parameters = self.columns.len() - self.captures.len();
        let given = &self.columns.types()[..num_parameters];
        if given.len() == wanted.len() && given.iter().zip(wanted).all(|(g, w)| g.is_equivalent(w))
        {
            return Ok(());
        }
        let text =
            |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Err(Error::invalid_input("a lambda has other parameters than it is given")
            .with("expected", format_args!("({})", text(wanted)))
            .with("found", format_args!("({})", text(given))))
    }
}
