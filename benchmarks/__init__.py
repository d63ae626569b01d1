"""Speed, as ratios within one run: machines differ and are shared, so a time alone says little."""
