"""What all pages of the admin share: the site, who may do what, the declared filters, and confirmations."""
