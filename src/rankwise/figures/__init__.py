"""The data and the text of each figure; `report` draws them as SVG and `plotting` with matplotlib."""
