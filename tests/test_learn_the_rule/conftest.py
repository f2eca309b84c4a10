from pathlib import Path

import pytest


@pytest.fixture
def of_the_study():
    """Loads a network of the study from its certificate."""

    def load(name):
        import torch  # optional, as the package of the networks is

        from learn_the_rule import check
        from learn_the_rule.network import DigitNetwork, PolicyValueNetwork

        weights = check.read(Path(check.__file__).parent / "certificates" / f"{name}.npz")
        network = PolicyValueNetwork() if name.startswith("policy") else DigitNetwork()
        network.load_state_dict({key: torch.from_numpy(weights[key]) for key in network.state_dict()})
        return network.eval()

    return load
