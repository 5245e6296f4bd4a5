"""A strategy behind the chat-completions API of OpenAI: who asks gets the answer that it stands by, and pays for every sample.

asked    a request's body -> question, prompt, sampling; or a refusal
service  a question -> strategy, bank, engine -> a completion
app      HTTP, errors, the end
"""
