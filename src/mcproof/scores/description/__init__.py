from mcproof.scores.description.judging import *
