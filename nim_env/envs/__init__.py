"""The environments, over the checked options, the positions of single games and the dynamics of many games."""
