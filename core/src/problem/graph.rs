//! Weighted graphs, and their cuts.

use std::{collections::HashSet, fmt, str::FromStr};

/// The most vertices whose cuts are all tried.
const MOST_TRIED: usize = 24;

/// An undirected graph with weighted edges. Vertices are counted from 0.
///
/// As text it is one edge a line, `0 1` or `0 1 0.5`, with `#` comments; a weight that is left out is 1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Graph {
    n_vertices: usize,
    edges: Vec<(usize, usize, f64)>,
}

impl Graph {
    /// A graph with these edges: two vertices and a weight.
    ///
    /// # Errors
    /// [`GraphError`] for an edge from a vertex to itself, a pair of vertices that comes twice, a vertex that is not
    /// there, or a weight that is not finite.
    pub fn new(
        n_vertices: usize,
        edges: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> Result<Graph, GraphError> {
        let mut graph = Graph { n_vertices, edges: Vec::new() };
        let mut seen = HashSet::new();
        edges.into_iter().try_for_each(|edge| graph.push(edge, &mut seen))?;
        Ok(graph)
    }

    /// The number of vertices.
    #[must_use]
    pub fn n_vertices(&self) -> usize {
        self.n_vertices
    }

    /// The edges in the order given.
    #[must_use]
    pub fn edges(&self) -> &[(usize, usize, f64)] {
        &self.edges
    }

    /// The weight of the edges between the vertices whose bit in `side` is 1 and the others. Vertices that `side` has no
    /// bit for are among the others.
    #[must_use]
    pub fn cut(&self, side: usize) -> f64 {
        let bit =
            |vertex: usize| u32::try_from(vertex).ok().and_then(|v| side.checked_shr(v)).unwrap_or(0) & 1;
        let across = self.edges.iter().filter(|e| bit(e.0) != bit(e.1));
        across.fold(0.0, |sum, e| sum + e.2)
    }

    /// The largest cut and the first side that gives it, by trying all; `None` for more than 24 vertices.
    /// O(2^(n - 1) edges): the last vertex is on side 1.
    #[must_use]
    pub fn largest_cut(&self) -> Option<(f64, usize)> {
        if self.n_vertices > MOST_TRIED {
            return None;
        }
        let half = (1usize << self.n_vertices) / 2;
        let sides = (half..(2 * half).max(1)).map(|side| (self.cut(side), side));
        sides.reduce(|best, other| if other.0 > best.0 { other } else { best })
    }

    /// Adds an edge; `seen` holds the pairs of those that are there.
    fn push(
        &mut self,
        (a, b, weight): (usize, usize, f64),
        seen: &mut HashSet<(usize, usize)>,
    ) -> Result<(), GraphError> {
        let error = |problem| Err(GraphError { line: None, problem });
        if let Some(vertex) = [a, b].into_iter().find(|v| *v >= self.n_vertices) {
            return error(GraphProblem::NoSuchVertex { vertex, n_vertices: self.n_vertices });
        }
        if a == b {
            return error(GraphProblem::Loop { vertex: a });
        }
        if !seen.insert((a.min(b), a.max(b))) {
            return error(GraphProblem::Repeated { a, b });
        }
        if !weight.is_finite() {
            return error(GraphProblem::Weight { text: weight.to_string() });
        }
        self.edges.push((a, b, weight));
        Ok(())
    }
}

/// What is wrong with a graph, and in which line of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphError {
    /// The line, counted from 1, if it came from text.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: GraphProblem,
}

/// What can be wrong with a graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphProblem {
    /// An edge from a vertex to itself.
    #[error("an edge joins two vertices, not {vertex} with itself")]
    Loop {
        /// The vertex.
        vertex: usize,
    },
    /// The same two vertices again.
    #[error("the edge {a} {b} comes twice")]
    Repeated {
        /// A vertex.
        a: usize,
        /// The other.
        b: usize,
    },
    /// A vertex beyond the last.
    #[error("vertex {vertex} does not exist: the graph has {n_vertices}, counted from 0")]
    NoSuchVertex {
        /// The vertex.
        vertex: usize,
        /// How many there are.
        n_vertices: usize,
    },
    /// A weight that is not a finite number.
    #[error("the weight {text} is not a finite number")]
    Weight {
        /// Its text.
        text: String,
    },
    /// A line that is no edge.
    #[error("expected two vertices and a weight, such as `0 1 0.5`, found `{found}`")]
    Syntax {
        /// The line.
        found: String,
    },
    /// A vertex number too large for any state.
    #[error("vertex {text} is beyond any state")]
    Vertex {
        /// Its text.
        text: String,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.problem.fmt(f)
    }
}
impl std::error::Error for GraphError {}

impl FromStr for Graph {
    type Err = GraphError;

    /// Reads the edges; there are as many vertices as the largest number asks for.
    fn from_str(text: &str) -> Result<Graph, GraphError> {
        let mut graph = Graph::default();
        let mut seen = HashSet::new();
        for (k, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let edge = read_edge(content).and_then(|edge| {
                graph.n_vertices = graph.n_vertices.max(edge.0.max(edge.1) + 1);
                graph.push(edge, &mut seen).map_err(|e| e.problem)
            });
            edge.map_err(|problem| GraphError { line: Some(k + 1), problem })?;
        }
        Ok(graph)
    }
}

fn read_edge(content: &str) -> Result<(usize, usize, f64), GraphProblem> {
    let syntax = || GraphProblem::Syntax { found: content.chars().take(60).collect() };
    let vertex = |text: &str| match text.parse::<usize>() {
        Ok(vertex) if vertex < crate::basis::MAX_QUBITS => Ok(vertex),
        Err(_) if !text.bytes().all(|b| b.is_ascii_digit()) => Err(syntax()),
        _ => Err(GraphProblem::Vertex { text: text.to_owned() }),
    };
    match content.split_whitespace().collect::<Vec<_>>().as_slice() {
        [a, b] => Ok((vertex(a)?, vertex(b)?, 1.0)),
        [a, b, weight] => Ok((vertex(a)?, vertex(b)?, weight.parse().map_err(|_| syntax())?)),
        _ => Err(syntax()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_with_their_line() {
        let error = |text: &str| text.parse::<Graph>().unwrap_err().to_string();
        assert_eq!(error("0 1\n# fine\n2 2\n"), "line 3: an edge joins two vertices, not 2 with itself");
        assert_eq!(error("0 1\n1 0 2.5"), "line 2: the edge 1 0 comes twice");
        assert_eq!(error("0 1 inf"), "line 1: the weight inf is not a finite number");
        assert_eq!(
            error("0 99999999999999999999"),
            "line 1: vertex 99999999999999999999 is beyond any state"
        );
        for bad in ["0", "0 1 2 3", "a b", "0 1 x", "-1 2"] {
            assert!(error(bad).contains("expected two vertices"), "{bad}");
        }
        assert_eq!(
            Graph::new(2, [(0, 2, 1.0)]).unwrap_err().to_string(),
            "vertex 2 does not exist: the graph has 2, counted from 0"
        );
    }

    #[test]
    fn the_largest_cut_of_a_ring() {
        let ring = |n| Graph::new(n, (0..n).map(|k| (k, (k + 1) % n, 1.0))).unwrap();
        assert_eq!(ring(6).largest_cut(), Some((6.0, 0b10_1010)));
        assert_eq!(ring(7).largest_cut().map(|c| c.0), Some(6.0));
        assert_eq!(Graph::new(25, []).unwrap().largest_cut(), None);
    }
}
