"""Structured losses as layers of PyTorch: margrove.losses with automatic differentiation.

Needs PyTorch: pip install margrove[torch].
"""

from typing import Any

try:
    import torch
except ImportError as error:
    raise ImportError("margrove.torch needs the package torch: pip install torch") from error

from torch.autograd.function import once_differentiable

from margrove.losses import evaluate

__all__ = ["StructuredLoss"]


class _Losses(torch.autograd.Function):
    """One loss per example."""

    @staticmethod
    def forward(
        ctx: Any, truth: Any, lengths: Any, output: Any, settings: Any, *scores: torch.Tensor
    ) -> torch.Tensor:
        arrays = [each.detach().cpu().numpy() for each in scores]
        losses, _, gradients, ctx.shared = evaluate(arrays, truth, output, settings, lengths)
        device = scores[0].device
        ctx.save_for_backward(*(torch.from_numpy(each).to(device) for each in gradients))
        return torch.from_numpy(losses).to(device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_losses: torch.Tensor) -> tuple[Any, ...]:
        found: list[torch.Tensor | None] = []
        for k, (gradient, shared) in enumerate(zip(ctx.saved_tensors, ctx.shared, strict=True)):
            if not ctx.needs_input_grad[4 + k]:
                found.append(None)
                continue
            if shared:  # sum_i of_losses_i gradient_i
                found.append(torch.tensordot(of_losses, gradient, dims=1))
            else:
                found.append(gradient * of_losses.reshape(-1, *[1] * (gradient.ndim - 1)))
        return (None, None, None, None, *found)


class StructuredLoss(torch.nn.Module):
    """The structured loss of a batch of scores: max_y psi(f(y) - f(truth), L(truth, y)).

    Parameters
    ----------
    output : Any
        one of margrove.losses: MultiClass, Chain, ProjectiveTrees, PairwiseField, LabelPaths,
        LabelSets
    surrogate : str, default "margin"
        psi, a function of margin violation and task loss: margin, slack, generalised:BETA,A,
        beta:BETA, log, prob, prob-convex, micro-f1, normalized-difference
    search : str, default "auto"
        how the maximum is found: see `structured_loss`
    reduction : str, default "mean"
        of the losses of the examples [mean | sum | none]
    max_bans : int, default 10
        maximum number of rounds in which convex-hull search bans labellings
    tolerance : float, default 0.0
        the allowed relative error of the maximum in convex-hull search; 0: none
    threads : int, default 1
        number of threads, 0: one per core; the result does not depend on it
    """

    def __init__(
        self,
        output: Any,
        surrogate: str = "margin",
        search: str = "auto",
        *,
        reduction: str = "mean",
        max_bans: int = 10,
        tolerance: float = 0.0,
        threads: int = 1,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction is {reduction!r}, but must be 'mean', 'sum' or 'none'")
        self.output = output
        self.surrogate = surrogate
        self.search = search
        self.reduction = reduction
        self.max_bans = max_bans
        self.tolerance = tolerance
        self.threads = threads

    def forward(self, scores: Any, truth: Any, lengths: Any = None) -> torch.Tensor:
        """The loss, to be minimised.

        scores: a tensor, or a tuple of those that `output` names, as for `structured_loss`. The
        search runs on the CPU; scores on another device are copied to it. float16 and bfloat16 are
        converted to float32. truth, lengths: tensors or arrays of whole numbers.
        """
        given = list(scores) if isinstance(scores, tuple | list) else [scores]
        for each in given:
            if not isinstance(each, torch.Tensor):
                raise TypeError(f"scores: type is {type(each).__name__}, but must be torch.Tensor")
        tensors = [each.float() if each.dtype in _HALF else each for each in given]
        settings = (self.surrogate, self.search, self.max_bans, self.tolerance, self.threads)
        apply: Any = _Losses.apply  # without types in some versions of PyTorch
        losses: torch.Tensor = apply(
            _array(truth), _array(lengths), self.output, settings, *_of_one_type(tensors)
        )
        if self.reduction == "none":
            return losses
        return losses.sum() if self.reduction == "sum" else losses.mean()

    def extra_repr(self) -> str:
        """The settings, for print."""
        return f"{self.output}, surrogate={self.surrogate!r}, search={self.search!r}"


_HALF = (torch.float16, torch.bfloat16)


def _array(numbers: Any) -> Any:
    return numbers.detach().cpu().numpy() if isinstance(numbers, torch.Tensor) else numbers


def _of_one_type(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    types = {each.dtype for each in tensors}
    if types == {torch.float32, torch.float64}:
        return [each.double() for each in tensors]
    return tensors
