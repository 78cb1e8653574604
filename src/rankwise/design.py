"""The former path of `rankwise.data.design`."""

from rankwise.data.design import Design, as_design

__all__ = ["Design", "as_design"]
