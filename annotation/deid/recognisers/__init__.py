"""What may identify a person in a chat: rules, without Django, network or chance. One module per family; `finding.find` runs them all."""
