"""A linear probe on image embeddings, trained by FedAvg."""
