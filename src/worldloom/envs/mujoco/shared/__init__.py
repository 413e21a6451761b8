"""What several of Gymnasium's MuJoCo tasks share: systems and components of their robots."""
