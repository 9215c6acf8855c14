//! Observables in the syntax of other tools: calls, brackets, lists and constructors of Python.

use num_complex::Complex;

use super::{
    ObservableError, ObservableProblem, Pauli, PauliString, PauliSum,
    coefficient::{ParametricTerm, terms},
    read::{Reader, WeightedStrings},
};

impl<'a> Reader<'a> {
    fn foreign(&self, at: usize, format: &'static str, instead: &'static str) -> ObservableError {
        self.error(at, ObservableProblem::Foreign { format, instead })
    }

    /// The qubits of an operator: `(0)`, `(wires=0)`, `(wires=[0])`, `(q(0))`,
    /// `(cirq.LineQubit(0))`. The identity may have any number of them.
    pub(super) fn call(
        &mut self,
        pauli: Option<Pauli>,
        start: usize,
    ) -> Result<PauliString, ObservableError> {
        self.expect('(', "`(`")?;
        if self.name() == "wires" {
            self.take_bytes("wires".len());
            self.expect('=', "`=`")?;
        }
        let is_list = self.accept('[');
        let mut string = PauliString::default();
        let mut count = 0;
        while !matches!(self.peek(), Some(')' | ']')) {
            let part = self.qubit(pauli, start)?;
            if count > 0 && pauli.is_some() {
                return Err(self.unexpected("`)`: an operator acts on one qubit"));
            }
            string = part;
            count += 1;
            if !self.accept(',') {
                break;
            }
        }
        if count == 0 && pauli.is_some() {
            return Err(self.unexpected("a qubit number"));
        }
        if is_list {
            self.expect(']', "`]`")?;
        }
        self.expect(')', "`)`")?;
        Ok(string)
    }

    /// A qubit, as a number or as one of Cirq's.
    fn qubit(
        &mut self,
        pauli: Option<Pauli>,
        start: usize,
    ) -> Result<PauliString, ObservableError> {
        let mut name = self.name();
        let place = self.at;
        if name == "cirq" {
            self.take_bytes(name.len());
            self.expect('.', "`.`")?;
            name = self.name();
        }
        let is_line = matches!(name, "q" | "LineQubit");
        if is_line {
            self.take_bytes(name.len());
            self.expect('(', "`(`")?;
        } else if !matches!(self.peek(), Some('0'..='9')) {
            return Err(match self.peek() {
                Some(c) if c.is_alphabetic() || "'\"".contains(c) => self.foreign(
                    place,
                    "a qubit or wire with a name",
                    "qubits are numbers, as in `Z(0)` or `Z0`",
                ),
                _ => self.unexpected("a qubit number"),
            });
        }
        self.peek();
        let at = self.at;
        let digits = self.take_while(|_, c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.unexpected("a qubit number"));
        }
        if is_line {
            if self.peek() == Some(',') {
                let instead = "qubits are numbers in a line, as in `Z(q(0))` or `Z0`";
                return Err(self.foreign(place, "a qubit of a grid", instead));
            }
            self.expect(')', "`)`")?;
        }
        match pauli {
            Some(pauli) => self.operator(pauli, digits, at, start),
            None => Ok(PauliString::default()),
        }
    }

    /// Operators in brackets, `[Z0 Z1]`, or a list of pairs.
    pub(super) fn bracket(&mut self) -> Result<WeightedStrings, ObservableError> {
        let start = self.at;
        let inside = self.text[start + 1..].split(']').next().unwrap_or_default();
        if inside.contains('^') {
            let instead = "`FermionOperator` reads it, and a `Mapping` makes it an observable";
            return Err(self.foreign(start, "an operator on fermions", instead));
        }
        self.take_bytes(1);
        match self.peek() {
            Some('(') => {
                let terms = self.pairs()?;
                self.expect(']', "`,` or `]`")?;
                Ok(terms)
            }
            Some('\'' | '"') => {
                let instead = "write pairs, `[('ZZ', 1.0), ('XI', 0.5)]`";
                Err(self.foreign(start, "a list of Pauli strings without coefficients", instead))
            }
            Some('0'..='9' | '.' | '-' | '+') => {
                let instead = "write operators with their qubits, `(1+0j) * Z0 Z1` or `spin.z(0) * spin.z(1)`";
                Err(self.foreign(
                    start,
                    "CUDA-Q's text, a coefficient in brackets before a word,",
                    instead,
                ))
            }
            _ => Ok(vec![(Complex::from(1.0), self.operators(']')?)]),
        }
    }

    /// Parses operators up to the closing character.
    fn operators(&mut self, close: char) -> Result<PauliString, ObservableError> {
        let mut string = PauliString::default();
        while !self.accept(close) {
            self.peek();
            let start = self.at;
            let (_, part) = self.word()?;
            if let Some((qubit, _)) =
                part.factors.iter().find(|f| string.factors.iter().any(|g| f.0 == g.0))
            {
                return Err(self.error(start, ObservableProblem::Repeated { qubit: *qubit }));
            }
            string.factors.extend(part.factors);
        }
        string.factors.sort_unstable();
        Ok(string)
    }

    /// Qiskit's lists: `('ZZ', 1.0), ('XI', 0.5)`, or with qubits, `('ZZ', [0, 2], 1.0)`.
    fn pairs(&mut self) -> Result<WeightedStrings, ObservableError> {
        let mut terms = Vec::new();
        while self.accept('(') {
            let (word, start) = self.quoted()?;
            self.expect(',', "`,`")?;
            let string = if self.peek() == Some('[') {
                let string = self.placed(word, start)?;
                self.expect(',', "`,`")?;
                string
            } else {
                self.dense(word, start)?
            };
            terms.push((self.coefficient()?, string));
            self.accept(',');
            self.expect(')', "`)`")?;
            if !self.accept(',') {
                break;
            }
        }
        Ok(terms)
    }

    /// A word and its qubits, `[0, 2]`.
    fn placed(&mut self, word: &str, start: usize) -> Result<PauliString, ObservableError> {
        self.expect('[', "`[`")?;
        let mut string = PauliString::default();
        for (i, c) in word.chars().enumerate() {
            if i > 0 {
                self.expect(',', "`,` and a qubit for each letter")?;
            }
            self.peek();
            let at = self.at;
            let pauli = match c {
                'X' => Some(Pauli::X),
                'Y' => Some(Pauli::Y),
                'Z' => Some(Pauli::Z),
                _ => None,
            };
            let part = self.qubit(pauli, at)?;
            if let Some((qubit, _)) =
                part.factors.iter().find(|f| string.factors.iter().any(|g| f.0 == g.0))
            {
                return Err(self.error(start, ObservableProblem::Repeated { qubit: *qubit }));
            }
            string.factors.extend(part.factors);
        }
        self.accept(',');
        self.expect(']', "`]`: a qubit for each letter")?;
        string.factors.sort_unstable();
        Ok(string)
    }

    /// A word of Pauli letters in quotes, and where it begins.
    fn quoted(&mut self) -> Result<(&'a str, usize), ObservableError> {
        let quote = self.quote()?;
        let start = self.at;
        let word = self.take_while(|_, c| "IXYZ".contains(c));
        if !self.text[self.at..].starts_with(quote) {
            return Err(self.unexpected("a letter I, X, Y or Z, or the quote"));
        }
        self.take_bytes(1);
        Ok((word, start))
    }

    fn quote(&mut self) -> Result<char, ObservableError> {
        match self.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.take_bytes(1);
                Ok(quote)
            }
            Some('.') => Err(self.abbreviated()),
            _ => Err(self.unexpected("Pauli letters in quotes, such as `'XZ'`")),
        }
    }

    fn abbreviated(&self) -> ObservableError {
        let instead = "print `op.to_list()` of Qiskit, which has all terms with all digits";
        self.foreign(self.at, "a list that `...` makes shorter", instead)
    }

    /// A number, possibly as a sum: `-0.011 +0.j`.
    fn coefficient(&mut self) -> Result<Complex<f64>, ObservableError> {
        self.peek();
        if self.text[self.at..].starts_with("...") {
            return Err(self.abbreviated());
        }
        let start = self.at;
        match &self.inner_sum()?[..] {
            [term] if term.is_number() => Ok(term.coefficient),
            _ => {
                self.at = start;
                Err(self.unexpected("a number"))
            }
        }
    }

    /// Parses a constructor of another tool.
    pub(super) fn constructor(&mut self) -> Result<Option<Vec<ParametricTerm>>, ObservableError> {
        self.peek();
        for number in ["np.complex128(", "np.float64("] {
            if self.text[self.at..].starts_with(number) {
                self.take_bytes(number.len());
                let terms = self.inner_sum()?;
                self.expect(')', "`)`")?;
                return Ok(Some(terms));
            }
        }
        let start = self.at;
        let made = match self.name_in_module() {
            "SparsePauliOp" => self.sparse_pauli_op(),
            "QubitOperator" => self.qubit_operator(),
            "Projector" => self.pennylane_projector(),
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        made.map(|made| Some(terms(made)))
    }

    /// `QubitOperator('Z0 Z1', 0.5)`.
    fn qubit_operator(&mut self) -> Result<WeightedStrings, ObservableError> {
        self.take_bytes("QubitOperator".len());
        self.expect('(', "`(`")?;
        let quote = self.quote()?;
        let string = self.operators(quote)?;
        let c = if self.accept(',') { self.coefficient()? } else { Complex::from(1.0) };
        self.expect(')', "`)`")?;
        Ok(vec![(c, string)])
    }

    /// `|01><01|`: bits of all qubits, qubit 0 the last.
    pub(super) fn ket_bra(&mut self) -> Result<WeightedStrings, ObservableError> {
        let start = self.at;
        self.take_bytes(1);
        let bits = |_: &str, c: char| matches!(c, '0' | '1');
        let ket = self.take_while(bits);
        if ket.is_empty() || !self.text[self.at..].starts_with("><") {
            return Err(self.unexpected("bits and `><`, as in `|01><01|`"));
        }
        self.take_bytes(2);
        let at = self.at;
        let bra = self.take_while(bits);
        self.expect('|', "a bit or `|`")?;
        if ket != bra {
            let instead = "the same bits are on both sides; a sum such as `|01><10| + |10><01|` is a matrix, which is a file";
            return Err(self.foreign(at, "an operator between two states", instead));
        }
        let expected = *self.letters.get_or_insert(ket.len());
        if ket.len() != expected {
            return Err(
                self.error(start, ObservableProblem::WordLength { letters: ket.len(), expected })
            );
        }
        let values: Vec<(usize, bool)> =
            ket.chars().rev().map(|bit| bit == '1').enumerate().collect();
        self.projector(&values, start)
    }

    /// `Projector([0, 1], wires=[0, 2])`.
    fn pennylane_projector(&mut self) -> Result<WeightedStrings, ObservableError> {
        let start = self.at;
        self.take_bytes("Projector".len());
        self.expect('(', "`(`")?;
        self.keyword("state");
        let is_array = ["np.array(", "numpy.array(", "array("].into_iter().find(|name| {
            self.peek();
            self.text[self.at..].starts_with(name)
        });
        self.take_bytes(is_array.map_or(0, str::len));
        self.expect('[', "a list of bits")?;
        let mut bits = Vec::new();
        while self.peek() != Some(']') {
            match self.peek() {
                Some(bit @ ('0' | '1')) => bits.push(bit == '1'),
                _ => return Err(self.unexpected("a bit, 0 or 1")),
            }
            self.take_bytes(1);
            self.accept(',');
        }
        self.expect(']', "`]`")?;
        if is_array.is_some() {
            self.expect(')', "`)`")?;
        }
        self.expect(',', "`,` and `wires=`")?;
        self.keyword("wires");
        let is_list = self.accept('[');
        let mut values = Vec::new();
        for value in bits {
            if !values.is_empty() {
                self.expect(',', "`,` and a qubit for each bit")?;
            }
            self.peek();
            let at = self.at;
            for (qubit, _) in self.qubit(Some(Pauli::Z), at)?.factors {
                values.push((qubit, value));
            }
        }
        if is_list {
            self.accept(',');
            self.expect(']', "`]`: a qubit for each bit")?;
        }
        self.expect(')', "`)`")?;
        self.projector(&values, start)
    }

    fn projector(
        &self,
        values: &[(usize, bool)],
        start: usize,
    ) -> Result<WeightedStrings, ObservableError> {
        let sum = PauliSum::projector(values).map_err(|e| self.error(start, e.problem))?;
        Ok(sum.terms.into_iter().map(|(c, string)| (Complex::from(c), string)).collect())
    }

    /// `SparsePauliOp(['ZZ', 'XI'], coeffs=[1.+0.j, 0.5+0.j])`,
    /// `SparsePauliOp.from_list([('ZZ', 1.0)])`.
    fn sparse_pauli_op(&mut self) -> Result<WeightedStrings, ObservableError> {
        let start = self.at;
        self.take_bytes("SparsePauliOp".len());
        if self.text[self.at..].starts_with('.') {
            self.take_bytes(1);
            let method = self.name();
            if !matches!(method, "from_list" | "from_sparse_list") {
                return Err(self.unexpected("`from_list` or `from_sparse_list`"));
            }
            self.take_bytes(method.len());
        }
        self.expect('(', "`(`")?;
        self.keyword("data");
        let mut terms: WeightedStrings = Vec::new();
        let one = Complex::from(1.0);
        if matches!(self.peek(), Some('\'' | '"')) {
            let (word, at) = self.quoted()?;
            terms.push((one, self.dense(word, at)?));
        } else {
            self.expect('[', "a list of Pauli strings")?;
            if self.peek() == Some('(') {
                terms = self.pairs()?;
            } else {
                while self.peek() != Some(']') {
                    let (word, at) = self.quoted()?;
                    terms.push((one, self.dense(word, at)?));
                    if !self.accept(',') {
                        break;
                    }
                }
            }
            self.expect(']', "`,` or `]`")?;
        }
        while self.accept(',') {
            if self.peek() == Some(')') {
                break;
            }
            if self.keyword("num_qubits") {
                self.coefficient()?;
                continue;
            }
            self.keyword("coeffs");
            self.coefficients(&mut terms, start)?;
        }
        self.expect(')', "`,` or `)`")?;
        Ok(terms)
    }

    /// Consumes the name of an argument, `name=`, if it comes next.
    fn keyword(&mut self, name: &str) -> bool {
        let is_next =
            self.name() == name && self.text[self.at + name.len()..].trim_start().starts_with('=');
        if is_next {
            self.take_bytes(name.len());
            self.accept('=');
        }
        is_next
    }

    /// Assigns its coefficient to each term: `[1.+0.j, 0.5+0.j]`, possibly in `array( )`.
    fn coefficients(
        &mut self,
        terms: &mut WeightedStrings,
        start: usize,
    ) -> Result<(), ObservableError> {
        let mut is_array = false;
        for name in ["np.array", "numpy.array", "array"] {
            self.peek();
            if self.text[self.at..].starts_with(name) {
                self.take_bytes(name.len());
                self.expect('(', "`(`")?;
                is_array = true;
                break;
            }
        }
        self.expect('[', "a list of coefficients")?;
        let mut given = Vec::new();
        while self.peek() != Some(']') {
            given.push(self.coefficient()?);
            if !self.accept(',') {
                break;
            }
        }
        self.expect(']', "`,` or `]`")?;
        if is_array {
            self.expect(')', "`)`")?;
        }
        if given.len() != terms.len() {
            let (strings, coefficients) = (terms.len(), given.len());
            return Err(
                self.error(start, ObservableProblem::Coefficients { strings, coefficients })
            );
        }
        terms.iter_mut().zip(given).for_each(|(term, c)| term.0 = c);
        Ok(())
    }

    /// Returns the error of a name that another tool uses.
    pub(super) fn foreign_name(&self, name: &str) -> Option<ObservableError> {
        let after = self.text[self.at + name.len()..].chars().next();
        let (format, instead) = match name {
            "a" if !matches!(after, Some('⁺' | '⁻' | '†')) => return None,
            "FermionicOp" | "Fermionic" | "FermionOperator" | "FermiWord" | "FermiSentence"
            | "a" => (
                "an operator on fermions in this form",
                "write it as OpenFermion prints it, `0.5 [0^ 1] + 0.5 [1^ 0]`",
            ),
            "Hamiltonian" | "LinearCombination" | "Sum" | "Prod" | "SProd" => (
                "PennyLane's constructor",
                "print the operator as a sum, `0.5 * (Z(0) @ Z(1)) + X(0)`",
            ),
            "Hermitian" => ("PennyLane's constructor", "a matrix is a file, `@H.npy` or `@H.mtx`"),
            "PauliSum" | "PauliString" | "DensePauliString" | "LinearCombinationOfOperations" => {
                ("Cirq's constructor", "print it with `str`, `0.500*Z(q(0))*Z(q(1))`")
            }
            "PauliSumOp" | "PauliList" | "Pauli" | "SparseObservable" | "Operator" => (
                "Qiskit's constructor",
                "print `SparsePauliOp(...).to_list()`, `[('ZZ', 1.0), ('XI', 0.5)]`",
            ),
            _ => return None,
        };
        Some(self.foreign(self.at, format, instead))
    }
}
