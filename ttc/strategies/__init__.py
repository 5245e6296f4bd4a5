"""Inference strategies. A strategy is its frozen config with `solve`; this union is registry, validator and documentation."""

from typing import Annotated

from pydantic import Field

from ttc.plugins import Joined
from ttc.strategies.adaptive_vote import AdaptiveVote
from ttc.strategies.allocated_vote import AllocatedVote
from ttc.strategies.beam_search import DVTS, BeamSearch
from ttc.strategies.best_of_n import BestOfN
from ttc.strategies.budget_forcing import BudgetForcing
from ttc.strategies.deepconf import DeepConf
from ttc.strategies.filtered_vote import FilteredVote
from ttc.strategies.generative_selection import GenerativeSelection
from ttc.strategies.oracle import Oracle
from ttc.strategies.particle_filter import ParticleFilter
from ttc.strategies.rejection import Rejection
from ttc.strategies.revision import Revision
from ttc.strategies.shuffled_vote import ShuffledVote
from ttc.strategies.single import ChainOfThought, Direct
from ttc.strategies.vote import Vote
from ttc.strategies.weighted_vote import WeightedVote

AnyStrategy = Annotated[
    Direct
    | ChainOfThought
    | Vote
    | ShuffledVote
    | BestOfN
    | WeightedVote
    | FilteredVote
    | DeepConf
    | Rejection
    | AdaptiveVote
    | AllocatedVote
    | BeamSearch
    | DVTS
    | ParticleFilter
    | Revision
    | BudgetForcing
    | GenerativeSelection
    | Oracle,
    Field(discriminator="kind"),
    Joined("ttc.strategies"),
]
