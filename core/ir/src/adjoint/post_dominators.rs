//! Post-dominator tree within one iteration of each loop.

use crate::{entity::Block, pass::reverse_postorder};

use super::canonical::CanonicalFunction;

/// Post-dominator tree within one iteration: dominance in the reversed graph in which the back edge
/// of a loop leads to its exits. It tells which blocks come after others on every path, in the same
/// iteration of every loop around both.
pub(super) struct PostDominatorTree {
    parents: Vec<Option<Block>>,
    depth: Vec<usize>,
}

impl PostDominatorTree {
    /// Builds the tree from the exit blocks of each loop.
    pub(super) fn new(n: &CanonicalFunction, exits: &[Vec<Block>]) -> PostDominatorTree {
        let f = &n.f;
        let successors: Vec<Vec<Block>> = (f.blocks.iter())
            .map(|(b, block)| {
                let targets = block.end.targets().into_iter().map(|t| t.block);
                targets
                    .flat_map(|t| {
                        match n.loop_headed_by(t).filter(|&l| n.loops.contains(Some(l), b)) {
                            Some(l) => exits[l].clone(),
                            None => vec![t],
                        }
                    })
                    .collect()
            })
            .collect();
        let order = reverse_postorder(f.blocks.len(), |b, k| successors[b.index()].get(k).copied());
        let mut after = PostDominatorTree {
            parents: vec![None; f.blocks.len()],
            depth: vec![0; f.blocks.len()],
        };
        for b in order.into_iter().rev() {
            let parent = after.common_post_dominator(&successors[b.index()]);
            after.depth[b.index()] = parent.map_or(0, |p| after.depth[p.index()]) + 1;
            after.parents[b.index()] = parent;
        }
        after
    }

    /// Returns the nearest common post-dominator of blocks.
    pub(super) fn common_post_dominator(&self, blocks: &[Block]) -> Option<Block> {
        let (&first, rest) = blocks.split_first()?;
        rest.iter().try_fold(first, |mut a, &b| {
            let mut b = b;
            while a != b {
                let lower =
                    if self.depth[a.index()] >= self.depth[b.index()] { &mut a } else { &mut b };
                *lower = self.parents[lower.index()]?;
            }
            Some(a)
        })
    }
}
