//! Weighted graphs, and their cuts.

use std::{collections::HashSet, fmt, str::FromStr};

use crate::basis::MAX_QUBITS;

/// Limit on the vertices for which all cuts are tried.
const MOST_TRIED: usize = 24;

/// An undirected graph with weighted edges. Vertices are counted from 0.
///
/// As text it is one edge a line, `0 1` or `0 1 0.5`, with `#` comments; a weight that is left out
/// is 1. Two formats count vertices from 1 and begin with the numbers of vertices and edges: that
/// of Gset, `4 5` and then edges with weights, `1 2 1`; and that of DIMACS, `p edge 4 5` and then
/// `e 1 2`, with comments after `c`. A first line of two numbers is a header if all others have
/// weights and no vertex is 0. Where edges have no weights it is a header only if it can be no
/// edge; a file that can be read both ways is an error.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Graph {
    n_vertices: usize,
    edges: Vec<(usize, usize, f64)>,
}

impl Graph {
    /// A graph with these edges: two vertices and a weight.
    ///
    /// # Errors
    /// [`GraphError`] for an edge from a vertex to itself, a repeated pair of vertices, a vertex
    /// that does not exist, or a weight that is not finite.
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

    /// The weight of the edges between the vertices whose bit in `side` is 1 and the others.
    /// Vertices that `side` has no bit for are among the others.
    #[must_use]
    pub fn cut(&self, side: usize) -> f64 {
        let bit = |vertex: usize| {
            u32::try_from(vertex).ok().and_then(|v| side.checked_shr(v)).unwrap_or(0) & 1
        };
        let across = self.edges.iter().filter(|e| bit(e.0) != bit(e.1));
        across.fold(0.0, |sum, e| sum + e.2)
    }

    /// Returns the largest cut and the first side that attains it, by trying all; `None` for more
    /// than 24 vertices. O(2^(n - 1) edges): the last vertex is on side 1.
    #[must_use]
    pub fn largest_cut(&self) -> Option<(f64, usize)> {
        if self.n_vertices > MOST_TRIED {
            return None;
        }
        let half = (1usize << self.n_vertices) / 2;
        let sides = (half..(2 * half).max(1)).map(|side| (self.cut(side), side));
        sides.reduce(|best, other| if other.0 > best.0 { other } else { best })
    }

    /// Adds an edge; `seen` holds the pairs of the existing ones.
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

/// Error of a graph, with the line of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphError {
    /// The line, counted from 1, if it came from text.
    pub line: Option<usize>,
    /// Cause of the error.
    pub problem: GraphProblem,
}

/// Cause of an error of a graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphProblem {
    /// An edge from a vertex to itself.
    #[error("an edge joins two vertices, not {vertex} with itself")]
    Loop {
        /// The vertex.
        vertex: usize,
    },
    /// A repeated pair of vertices.
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
        /// Number of vertices.
        n_vertices: usize,
    },
    /// A vertex that a header does not count.
    #[error("vertex {vertex} does not exist: the header says {n_vertices}, counted from 1")]
    BeyondHeader {
        /// The vertex as in the file.
        vertex: usize,
        /// Number of vertices.
        n_vertices: usize,
    },
    /// A header with another number of edges than the text has.
    #[error(
        "the header `{n_vertices} {n_edges}` says {n_vertices} vertices and {n_edges} edges, but there are {given}; \
         if it is an edge, give it its weight: `{n_vertices} {n_edges} 1`"
    )]
    Count {
        /// The number of vertices.
        n_vertices: usize,
        /// The number of edges in the header.
        n_edges: usize,
        /// The number of edges.
        given: usize,
    },
    /// A first line that may be a header or an edge.
    #[error(
        "`{n_vertices} {n_edges}` may say that there are {n_vertices} vertices, counted from 1, and {n_edges} edges, or be an \
         edge: write `p edge {n_vertices} {n_edges}` and each edge as `e 1 2`, or give the edge its weight, `{n_vertices} {n_edges} 1`"
    )]
    Ambiguous {
        /// The first number.
        n_vertices: usize,
        /// The second number.
        n_edges: usize,
    },
    /// More vertices than a state has qubits.
    #[error("{n_vertices} vertices are more than a state has qubits, {MAX_QUBITS}")]
    TooLarge {
        /// The number of vertices.
        n_vertices: usize,
    },
    /// A line that is not valid there in the DIMACS format.
    #[error(
        "expected `p edge 4 5`, once, for 4 vertices and 5 edges, then edges such as `e 1 2`, found {found}"
    )]
    Dimacs {
        /// The line.
        found: String,
    },
    /// A weight that is not a finite number.
    #[error("the weight {text} is not a finite number")]
    Weight {
        /// Its text.
        text: String,
    },
    /// A line that is not an edge.
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

impl GraphProblem {
    /// Returns the error with vertices as a file counts them.
    fn counted_from(self, first: usize) -> GraphProblem {
        match self {
            GraphProblem::Loop { vertex } => GraphProblem::Loop { vertex: vertex + first },
            GraphProblem::Repeated { a, b } => {
                GraphProblem::Repeated { a: a + first, b: b + first }
            }
            other => other,
        }
    }
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

    /// Reads the edges. Without a header the number of vertices follows from the largest one in the
    /// text.
    fn from_str(text: &str) -> Result<Graph, GraphError> {
        let lines =
            (1..).zip(text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()));
        let lines: Vec<(usize, &str)> = lines.filter(|(_, content)| !content.is_empty()).collect();
        let is_dimacs = lines.first().is_some_and(|(_, first)| {
            matches!(first.split_whitespace().next(), Some("c" | "p" | "e"))
        });
        if is_dimacs {
            return read_dimacs(&lines);
        }
        let Some((&(line, first), rest)) = lines.split_first() else { return Ok(Graph::default()) };
        let Some(header) = Header::read(line, first) else { return read_edges(&lines, None) };
        // A vertex 0 is one that is counted from 0, which no file with a header does.
        let mut vertices = rest.iter().flat_map(|(_, content)| content.split_whitespace().take(2));
        if rest.is_empty() || vertices.any(|vertex| vertex.parse() == Ok(0usize)) {
            return read_edges(&lines, None);
        }
        if rest.iter().all(|(_, content)| content.split_whitespace().count() == 3) {
            return read_edges(rest, Some(header));
        }
        match (read_edges(rest, Some(header)), read_edges(&lines, None)) {
            (Ok(_), Ok(_)) => {
                let Header { n_vertices, n_edges, .. } = header;
                let problem = GraphProblem::Ambiguous { n_vertices, n_edges };
                Err(GraphError { line: Some(line), problem })
            }
            (Ok(graph), Err(_)) => Ok(graph),
            (Err(_), edges) => edges,
        }
    }
}

/// The numbers of vertices, counted from 1, and of edges that a file begins with.
#[derive(Clone, Copy)]
struct Header {
    line: usize,
    n_vertices: usize,
    n_edges: usize,
}

impl Header {
    /// A line of two whole numbers that are not 0.
    fn read(line: usize, content: &str) -> Option<Header> {
        let mut numbers =
            content.split_whitespace().map(|word| word.parse().ok().filter(|n| *n > 0));
        let (n_vertices, n_edges) = (numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(Header { line, n_vertices, n_edges })
    }
}

/// A graph of one edge a line, by a header if there is one.
fn read_edges(lines: &[(usize, &str)], header: Option<Header>) -> Result<Graph, GraphError> {
    let mut graph = Graph::default();
    let mut seen = HashSet::new();
    let first = usize::from(header.is_some());
    if let Some(Header { line, n_vertices, n_edges }) = header {
        let problem = if n_vertices > MAX_QUBITS {
            Some(GraphProblem::TooLarge { n_vertices })
        } else {
            let given = lines.len();
            (given != n_edges).then_some(GraphProblem::Count { n_vertices, n_edges, given })
        };
        if let Some(problem) = problem {
            return Err(GraphError { line: Some(line), problem });
        }
        graph.n_vertices = n_vertices;
    }
    for &(line, content) in lines {
        let edge = read_edge(content).and_then(|(a, b, weight)| {
            if let Some(Header { n_vertices, .. }) = header {
                if let Some(vertex) = [a, b].into_iter().find(|v| !(1..=n_vertices).contains(v)) {
                    return Err(GraphProblem::BeyondHeader { vertex, n_vertices });
                }
            } else if a.max(b) >= MAX_QUBITS {
                return Err(GraphProblem::Vertex { text: a.max(b).to_string() });
            } else {
                graph.n_vertices = graph.n_vertices.max(a.max(b) + 1);
            }
            graph
                .push((a - first, b - first, weight), &mut seen)
                .map_err(|e| e.problem.counted_from(first))
        });
        edge.map_err(|problem| GraphError { line: Some(line), problem })?;
    }
    Ok(graph)
}

/// A graph in the format of the DIMACS challenges: `c` before comments, `p edge n m`, then `e a b`
/// for each edge.
fn read_dimacs(lines: &[(usize, &str)]) -> Result<Graph, GraphError> {
    let mut header = None;
    let mut edges = Vec::new();
    for &(line, content) in lines {
        let fault = || {
            let found = format!("`{}`", content.chars().take(60).collect::<String>());
            Err(GraphError { line: Some(line), problem: GraphProblem::Dimacs { found } })
        };
        let (kind, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
        match kind {
            "c" => {}
            "p" if header.is_none() => {
                let (of, counts) = rest.trim().split_once(char::is_whitespace).unwrap_or_default();
                // There may be no edges.
                let mut counts = counts.split_whitespace().map(str::parse);
                let (Some(Ok(n_vertices)), Some(Ok(n_edges)), None) =
                    (counts.next(), counts.next(), counts.next())
                else {
                    return fault();
                };
                if !matches!(of, "edge" | "edges" | "col") {
                    return fault();
                }
                header = Some(Header { line, n_vertices, n_edges });
            }
            "e" if header.is_some() => edges.push((line, rest.trim())),
            _ => return fault(),
        }
    }
    if header.is_none() {
        let problem = GraphProblem::Dimacs { found: "no `p`".to_owned() };
        return Err(GraphError { line: lines.last().map(|(line, _)| *line), problem });
    }
    read_edges(&edges, header)
}

fn read_edge(content: &str) -> Result<(usize, usize, f64), GraphProblem> {
    let syntax = || GraphProblem::Syntax { found: content.chars().take(60).collect() };
    let vertex = |text: &str| match text.parse::<usize>() {
        // Counted from 1 the last is one more.
        Ok(vertex) if vertex <= MAX_QUBITS => Ok(vertex),
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
        assert_eq!(
            error("0 1\n# fine\n2 2\n"),
            "line 3: an edge joins two vertices, not 2 with itself"
        );
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
    fn headers_are_told_from_edges() {
        let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 0, 1.0), (0, 2, 1.0)];
        let graph = Graph::new(4, edges).unwrap();
        let body = "1 2\n2 3\n3 4\n4 1\n1 3\n";
        let with = |start: &str, end: &str| {
            body.lines().fold(String::new(), |text, line| format!("{text}{start}{line}{end}\n"))
        };
        let read = |text: &str| text.parse::<Graph>().unwrap();
        for text in [
            format!("4 5\n{}", with("", " 1")),
            format!("# Gset\n\n 4\t5 # header\n{}", with(" ", "\t1.0")),
            format!("c a comment, 1 2\np edge 4 5\n{}", with("e ", "")),
            format!("p col 4 5\nc 7 8\n{}", with("e  ", " 1")),
        ] {
            assert_eq!(read(&text), graph, "{text}");
        }
        // A vertex without edges; edges without weights, where the first line is the last edge
        // again.
        assert_eq!(read("7 5\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n1 3 1").n_vertices(), 7);
        assert_eq!(read("3 2\n1 2\n2 3"), Graph::new(3, [(0, 1, 1.0), (1, 2, 1.0)]).unwrap());
        assert_eq!(read("3 3\n1 2\n2 3\n1 3").n_vertices(), 3);
        assert_eq!(read("p edge 2 0\n"), Graph::new(2, []).unwrap());
        // Edges, as they were.
        for (text, n, count) in [
            ("0 1\n0 2 0.5", 3, 2),
            ("1 2\n0 1 0.5", 3, 2),
            ("1 2\n2 3\n3 1", 4, 3),
            ("4 5", 6, 1),
            ("4 5\n1 2\n2 3", 6, 3),
            ("1 2\n2 3\n3 4\n4 1\n1 3", 5, 5),
            ("4 5 1\n1 2 1", 6, 2),
        ] {
            assert_eq!((read(text).n_vertices(), read(text).edges().len()), (n, count), "{text}");
        }
        let error = |text: &str| text.parse::<Graph>().unwrap_err().to_string();
        for (text, words) in [
            (
                format!("4 5\n{body}"),
                &["line 1: `4 5` may say", "4 vertices", "`p edge 4 5`", "`4 5 1`"][..],
            ),
            (
                "4 5\n1 2 1\n2 3 1".into(),
                &["line 1: the header `4 5`", "5 edges, but there are 2", "`4 5 1`"],
            ),
            (
                "3 2\n1 2 1\n3 4 1".into(),
                &["line 3: vertex 4 does not exist: the header says 3, counted from 1"],
            ),
            (
                "3 2\n1 2 1\n2 2 1".into(),
                &["line 3: an edge joins two vertices, not 2 with itself"],
            ),
            ("3 2\n1 2 1\n2 1 1".into(), &["line 3: the edge 2 1 comes twice"]),
            ("3 2\n1 2 1\n2 3 x".into(), &["line 3: expected two vertices and a weight"]),
            (
                "800 2\n1 2 1\n2 3 1".into(),
                &["line 1: 800 vertices are more than a state has qubits"],
            ),
            ("p edge 2 1\ne 0 1".into(), &["line 2: vertex 0 does not exist", "counted from 1"]),
            ("p edge 2 2\ne 1 2".into(), &["line 1: the header `2 2`", "2 edges, but there are 1"]),
            ("p edge 2\ne 1 2".into(), &["line 1: expected `p edge 4 5`", "found `p edge 2`"]),
            ("p sp 2 1\na 1 2 5".into(), &["line 1: expected `p edge 4 5`"]),
            ("p edge 2 1\np edge 2 1".into(), &["line 2: expected `p edge 4 5`, once"]),
            ("e 1 2".into(), &["line 1: expected `p edge 4 5`", "found `e 1 2`"]),
            ("p edge 2 1\n1 2".into(), &["line 2: expected `p edge 4 5`", "found `1 2`"]),
            ("p edge 2 1\nn 1 2".into(), &["line 2: expected `p edge 4 5`", "found `n 1 2`"]),
            ("c nothing\n".into(), &["line 1: expected `p edge 4 5`", "found no `p`"]),
            ("0 63".into(), &["line 1: vertex 63 is beyond any state"]),
        ] {
            let error = error(&text);
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
    }

    #[test]
    fn the_largest_cut_of_a_ring() {
        let ring = |n| Graph::new(n, (0..n).map(|k| (k, (k + 1) % n, 1.0))).unwrap();
        assert_eq!(ring(6).largest_cut(), Some((6.0, 0b10_1010)));
        assert_eq!(ring(7).largest_cut().map(|c| c.0), Some(6.0));
        assert_eq!(Graph::new(25, []).unwrap().largest_cut(), None);
    }
}
