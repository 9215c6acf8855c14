//! Sets of numbers, as unions of others: the dependences of each number of a run.
//!
//! A set is named by an [`SetId`], so that keeping and copying it costs nothing. Small ones are
//! lists; a large union keeps its two parts, and its members are computed only when they are
//! needed. Nothing is ever dropped.
//!
//! Cost: joining is O([`MAX_LIST`]), members are found in O(joins that led to the set).

/// The most members of a set that is a list.
const MAX_LIST: usize = 64;

/// A set among [`Sets`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SetId(u32);

#[derive(Clone, Copy, Debug)]
enum SetNode {
    /// List of members in order: its range.
    List(usize, usize),
    Union(SetId, SetId),
}

/// All sets of a run.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    members: Vec<usize>,
    made: Vec<SetNode>,
}

impl Sets {
    /// The empty set.
    pub(super) const NONE: SetId = SetId(0);

    pub(super) fn new() -> Sets {
        Sets { members: vec![], made: vec![SetNode::List(0, 0)] }
    }

    /// Creates the set of one number.
    pub(super) fn one(&mut self, member: usize) -> SetId {
        self.members.push(member);
        self.make(SetNode::List(self.members.len() - 1, self.members.len()))
    }

    /// Returns the union of two sets.
    pub(super) fn join(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == Sets::NONE {
            return a;
        }
        if a == Sets::NONE {
            return b;
        }
        let (SetNode::List(i, i_end), SetNode::List(j, j_end)) =
            (self.made[a.0 as usize], self.made[b.0 as usize])
        else {
            return self.make(SetNode::Union(a, b));
        };
        let start = self.members.len();
        self.merge(i..i_end, j..j_end);
        let count = self.members.len() - start;
        if count == i_end - i || count == j_end - j {
            self.members.truncate(start);
            return if count == i_end - i { a } else { b };
        }
        if count > MAX_LIST {
            self.members.truncate(start);
            return self.make(SetNode::Union(a, b));
        }
        self.make(SetNode::List(start, start + count))
    }

    /// Returns the union of all.
    pub(super) fn all(&mut self, sets: impl IntoIterator<Item = SetId>) -> SetId {
        sets.into_iter().fold(Sets::NONE, |all, set| self.join(all, set))
    }

    /// Appends the union of two lists to the members.
    fn merge(&mut self, mut a: std::ops::Range<usize>, mut b: std::ops::Range<usize>) {
        while !a.is_empty() || !b.is_empty() {
            let next = |of: &std::ops::Range<usize>| {
                if of.is_empty() { usize::MAX } else { self.members[of.start] }
            };
            let (x, y) = (next(&a), next(&b));
            a.start += usize::from(x <= y);
            b.start += usize::from(y <= x);
            self.members.push(x.min(y));
        }
    }

    fn make(&mut self, made: SetNode) -> SetId {
        self.made.push(made);
        SetId(u32::try_from(self.made.len() - 1).unwrap_or(u32::MAX))
    }
}

/// Finds members, for one set after the other.
pub(super) struct Members<'a> {
    sets: &'a Sets,
    /// The last question for which a set was looked at.
    seen: Vec<u32>,
    question: u32,
}

impl<'a> Members<'a> {
    pub(super) fn new(sets: &'a Sets) -> Members<'a> {
        Members { sets, seen: vec![0; sets.made.len()], question: 0 }
    }

    /// Returns the members of a set, in order.
    pub(super) fn members_of(&mut self, set: SetId) -> Vec<usize> {
        self.question += 1;
        let (mut open, mut found) = (vec![set], Vec::new());
        while let Some(SetId(k)) = open.pop() {
            if std::mem::replace(&mut self.seen[k as usize], self.question) == self.question {
                continue;
            }
            match self.sets.made[k as usize] {
                SetNode::List(from, to) => found.extend_from_slice(&self.sets.members[from..to]),
                SetNode::Union(a, b) => open.extend([a, b]),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
