"""What the engine `rapidocr` is made of: PP-OCR's models, from a picture to words with boxes.

`detect` finds lines of text, `lines` cuts them out, `read` turns each line into characters with their positions,
`words` groups the characters into words, `lookalikes` and `correct` change characters that were misread, and `page`
puts the words into reading order.
"""
